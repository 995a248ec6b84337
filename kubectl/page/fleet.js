// What the server has rendered, made anew as the fleet changes. Text only ever becomes text: nodes are made one by one.
const $ = id => document.getElementById(id);
const body = $('nodes').tBodies[0];
const every = 3000; // milliseconds between two looks
let moment = document.body.dataset.moment;
let edit = document.body.dataset.edit; // '': what edited policies would change is not on this page
const {health, policy} = document.body.dataset;

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// ---- nodes

const number = (of, value) => element('td', {class: 'number', 'data-of': of}, String(value));

function usedOf({used}) {
  if (used === undefined) return element('td', {class: 'used'});
  return element('td', {class: 'used'}, element('meter', {min: 0, max: 100, value: used}, `${used} %`));
}

function rowOf(node) {
  const title = node.name || '(no single node)';
  return element('tr', {class: `node ${node.health}`, 'data-name': node.name},
    element('th', {scope: 'row', class: 'name'}, element('a', {href: `/node?name=${encodeURIComponent(node.name)}`}, title)),
    number('devices', node.usage.devices), number('allocated', node.usage.allocated), usedOf(node), number('free', node.usage.free),
    number('hidden', node.hidden), element('td', {class: 'version'}, node.version),
    element('td', {class: 'state', title: node.title}, node.state));
}

function effectOf(of) {
  const link = element('a', {href: `/?policy=${encodeURIComponent(of.name)}`}, of.name);
  if (of.name === policy) link.setAttribute('aria-current', 'true');
  return element('tr', of.action === 'exclude' ? {class: 'exclude'} : {}, element('th', {scope: 'row'}, link),
    element('td', {class: 'kind'}, of.kind), element('td', {class: 'action'}, of.action),
    number('nodes', of.nodes), number('matched', of.matched), number('offered', of.offered), number('hidden', of.hidden),
    number('behind', of.behind), element('td', {class: 'problem'}, of.problem));
}

function showFleet(fleet) {
  const focused = document.activeElement?.closest('tr.node')?.dataset.name;
  body.replaceChildren(...fleet.nodes.map(rowOf));
  $('policies').tBodies[0].replaceChildren(...fleet.policies.map(effectOf));
  $('effects').hidden = !fleet.policies.length;
  for (const link of $('counts').querySelectorAll('[data-count]')) {
    link.querySelector('b').textContent = fleet.counts[link.dataset.count];
    link.classList.toggle('none', !fleet.counts[link.dataset.count]);
  }
  show();
  if (focused !== undefined) [...body.rows].find(row => row.dataset.name === focused)?.querySelector('a').focus();
}

// ---- what edited policies would change

function changesOf(node) {
  const lines = node.changes.map(change => element('div', {class: change.kind}, change.text));
  if (node.unjudged) lines.unshift(element('div', {class: 'unjudged'}, node.unjudged));
  if (node.more) lines.push(element('div', {}, node.more));
  const link = element('a', {href: `/node?name=${encodeURIComponent(node.name)}`}, node.name);
  return element('tr', {}, element('th', {scope: 'row'}, link), element('td', {}, ...lines));
}

function showEdit(effect) {
  $('edit-summary').textContent = effect.summary;
  $('edit-problem').textContent = effect.problem;
  $('edit-problem').hidden = !effect.problem;
  $('edit').querySelector('tbody').replaceChildren(...effect.nodes.map(changesOf));
}

async function look() {
  try {
    const now = await (await fetch(edit ? `/moment?edit=${edit}` : '/moment')).json();
    if (now.moment !== moment) {
      const query = new URLSearchParams({health, policy});
      showFleet(await (await fetch(`/nodes?${query}`)).json());
      moment = now.moment;
    }
    if (edit && now.edit && now.edit !== edit) {
      const effect = await (await fetch('/edit')).json();
      showEdit(effect);
      edit = effect.moment;
    }
    $('state').textContent = now.state;
    $('state').className = now.tone;
  } catch {
    $('state').textContent = 'kubectl sliced page does not answer';
    $('state').className = 'stale';
  }
  setTimeout(look, every);
}

// ---- which are shown

function show() {
  const words = $('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of body.rows) {
    const text = words.length ? row.textContent.toLowerCase() : '';
    row.hidden = !words.every(word => text.includes(word));
    shown += row.hidden ? 0 : 1;
  }
  $('found').textContent = words.length ? `${shown} of ${body.rows.length}` : '';
}

function step(by) {
  const rows = [...body.rows].filter(row => !row.hidden);
  const at = rows.indexOf(document.activeElement?.closest('tr.node'));
  rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + by))]?.querySelector('a').focus();
}

document.addEventListener('keydown', event => {
  const typing = event.target.matches('input');
  if (event.key === '/' && !typing) {
    $('filter').focus();
  } else if (event.key === 'Escape') {
    $('filter').value = '';
    show();
    document.activeElement.blur();
  } else if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && event.target.name !== 'pod') {
    step(event.key === 'ArrowDown' ? 1 : -1);
  } else {
    return;
  }
  event.preventDefault();
});
$('filter').addEventListener('input', show);
$('filter').hidden = false;
$('keys').hidden = false;
show();
setTimeout(look, every);
