// What the server has rendered, kept as it stands by its events. Text only ever becomes text: nodes are made one by one.
const $ = id => document.getElementById(id);
const table = $('devices');
const rows = new Map(); // by device id
let moment = Number(document.body.dataset.moment);
let disposition = new URLSearchParams(location.search).get('disposition') ?? '';

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// ---- devices

for (const row of table.querySelectorAll('tr.device')) rows.set(row.dataset.id, row);

function groupOf(key) {
  let next = null;
  for (const body of table.tBodies) {
    if (body.dataset.group === key) return body;
    if (next === null && body.dataset.group > key) next = body;
  }
  return table.insertBefore(element('tbody', {class: 'group', 'data-group': key}), next);
}

function rowOf(device) {
  const why = element('td', {class: 'why'});
  if (device.claim) why.append(element('span', {class: 'claim'}, `prepared for ${device.claim}`));
  why.append(device.why);
  return element('tr',
    {class: `device ${device.type}`, 'data-id': device.id, 'data-order': device.order, 'data-disposition': device.disposition},
    element('th', {scope: 'row', class: 'name'},
      element('a', {href: `/?device=${encodeURIComponent(device.id)}`, 'aria-expanded': 'false'}, device.interface || device.id)),
    element('td', {class: 'id'}, device.interface && device.interface !== device.id ? `${device.id} ` : '',
      element('span', {class: 'kind'}, device.kind)),
    element('td', {class: `link ${device.link.split(' ')[0]}`}, device.link),
    element('td', {class: 'driver'}, device.driver),
    element('td', {class: 'state'}, element('span', {class: `badge ${device.disposition}`}, device.disposition.replace('-', ' '))),
    why);
}

function put(device, isNew) {
  const row = rowOf(device);
  const before = rows.get(device.id);
  if (isNew) row.classList.add('new');
  const detail = before && detailOf(before);
  const isFocused = before?.contains(document.activeElement);
  remove(device.id);
  const group = groupOf(device.group);
  const next = [...group.children].find(one => one.matches('tr.device') && one.dataset.order > device.order) ?? null;
  group.insertBefore(row, next);
  rows.set(device.id, row);
  if (detail) open(row);
  if (isFocused) row.querySelector('a').focus();
}

function remove(id) {
  const row = rows.get(id);
  if (!row) return;
  detailOf(row)?.remove();
  const group = row.parentElement;
  row.remove();
  if (!group.querySelector('tr.device')) group.remove();
  rows.delete(id);
}

// ---- why

const detailOf = row => row.nextElementSibling?.matches('tr.detail') ? row.nextElementSibling : null;

function close(row) {
  detailOf(row)?.remove();
  row.querySelector('a').setAttribute('aria-expanded', 'false');
}

async function open(row) {
  close(row);
  const box = element('div', {class: 'explanation', role: 'status'}, '…');
  row.after(element('tr', {class: 'detail'}, element('td', {colspan: 6}, box)));
  row.querySelector('a').setAttribute('aria-expanded', 'true');
  try {
    const answer = await fetch(`/verdicts?device=${encodeURIComponent(row.dataset.id)}`);
    box.replaceChildren(...(answer.ok ? explained(await answer.json()) : [await answer.text()]));
  } catch {
    box.replaceChildren('sliced does not answer');
  }
}

function explained(why) {
  const out = [element('p', {}, why.summary)];
  const list = element('ul');
  for (const one of why.personas ?? [])
    list.append(element('li', {}, element('span', {class: 'said'}, one.policy), ` ${one.outcome}: ${one.summary}`));
  for (const one of why.rules ?? []) {
    const item = element('li', {}, `${one.policy ?? ''} `, element('span', {class: 'dim'}, `${one.place ?? ''} `),
      element('span', {class: `said ${one.said}`}, one.said ?? ''));
    if (one.field) item.append(`, ${one.field} is ${one.found || 'absent'}, expected ${one.wanted ?? ''}`);
    list.append(item);
  }
  if (why.rulesLeftOut) list.append(element('li', {class: 'dim'}, `and ${why.rulesLeftOut} more rules`));
  if (list.children.length) out.push(list);
  return out;
}

// ---- which are shown

function show() {
  const words = $('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows.values()) {
    const text = row.textContent.toLowerCase();
    row.hidden = (disposition !== '' && row.dataset.disposition !== disposition) || !words.every(word => text.includes(word));
    if (detailOf(row)) detailOf(row).hidden = row.hidden;
    shown += row.hidden ? 0 : 1;
  }
  $('found').textContent = words.length || disposition ? `${shown} of ${rows.size}` : '';
  for (const link of $('counts').children)
    link.dataset.disposition === disposition ? link.setAttribute('aria-current', 'true') : link.removeAttribute('aria-current');
}

function step(by) {
  const links = [...rows.values()].filter(row => !row.hidden).map(row => row.querySelector('a'))
    .sort((a, b) => a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1);
  const at = links.indexOf(document.activeElement);
  const next = links[at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + by, 0), links.length - 1)];
  next?.focus();
  next?.scrollIntoView({block: 'nearest'});
}

table.addEventListener('click', event => {
  const row = event.target.closest('tr.device');
  if (!row || event.ctrlKey || event.metaKey || event.shiftKey || getSelection().toString()) return;
  event.preventDefault();
  detailOf(row) ? close(row) : open(row);
});
$('counts').addEventListener('click', event => {
  const link = event.target.closest('a');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  disposition = link.dataset.disposition;
  show();
});
$('filter').addEventListener('input', show);
addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = document.activeElement === $('filter');
  if (event.key === 'ArrowDown') step(1);
  else if (event.key === 'ArrowUp') step(-1);
  else if (event.key === '/' && !isTyping) $('filter').focus();
  else if (event.key === 'Escape') leave(isTyping);
  else return;
  event.preventDefault();
});

function leave(isTyping) {
  if (isTyping && $('filter').value) {
    $('filter').value = '';
    return show();
  }
  const row = document.activeElement.closest?.('tr.device');
  row && detailOf(row) ? close(row) : document.activeElement.blur();
}

// ---- what the server says

function tellHead(head) {
  $('state').textContent = head.state;
  $('state').className = head.isWell ? '' : 'bad';
  $('problems').replaceChildren(...head.problems.map(text => element('li', {}, text)));
  for (const link of $('counts').children)
    link.querySelector('b').textContent = head.counts[link.dataset.disposition || 'all'] ?? '?';
}

function tellChange(change) {
  const time = element('time', {datetime: change.time}, change.time.slice(0, 19).replace('T', ' ') + 'Z');
  const list = $('history').querySelector('ol');
  list.prepend(element('li', {}, time, element('span', {class: 'kind'}, change.change),
    element('span', {class: 'what'}, change.what), element('span', {class: 'by'}, change.by)));
  while (list.children.length > 20) list.lastElementChild.remove();
}

let isReading = false, isToBeReadAgain = false;
async function readAll() {
  isToBeReadAgain = isReading;
  if (isReading) return;
  isReading = true;
  try {
    const answer = await fetch('/devices');
    if (!answer.ok) throw new Error(answer.statusText);
    const all = await answer.json();
    const gone = new Set(rows.keys());
    for (const device of all.items) {
      put(device, false);
      gone.delete(device.id);
    }
    gone.forEach(remove);
    moment = all.moment;
    show();
  } catch {
    setTimeout(readAll, 2000);
  } finally {
    isReading = false;
    if (isToBeReadAgain) setTimeout(readAll, 200);
  }
}

function listen() {
  const events = new EventSource('/events');
  const on = (name, then) => events.addEventListener(name, event => then(JSON.parse(event.data)));
  on('head', tellHead);
  on('history', tellChange);
  on('moment', ({to}) => to === moment || readAll());
  on('devices', ({from, to, set, gone}) => {
    if (to === moment) return;
    if (from !== moment) return readAll();
    for (const device of set) put(device, true);
    gone.forEach(remove);
    moment = to;
    show();
  });
  events.onerror = () => {
    $('state').textContent = `not followed since ${new Date().toLocaleTimeString()}: sliced does not answer`;
    $('state').className = 'stale';
    if (events.readyState !== EventSource.CLOSED) return;
    setTimeout(listen, 5000);
  };
}

$('search').hidden = false;
$('keys').hidden = false;
show();
if (disposition) readAll(); // the server has left the others out
listen();
