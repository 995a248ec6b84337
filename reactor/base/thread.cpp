#include "reactor/base/thread.h"

#include <csignal>

namespace sliced {

std::optional<Thread> Thread::start(size_t stack_bytes, void* (*run)(void*), void* argument) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return std::nullopt;
  pthread_attr_setstacksize(&attributes, stack_bytes);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t id;
  const bool started = pthread_create(&id, &attributes, run, argument) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (!started) return std::nullopt;
  return Thread(id);
}

Thread::~Thread() {
  if (id_) pthread_detach(*id_);
}

void Thread::join() {
  if (id_) pthread_join(*std::exchange(id_, std::nullopt), nullptr);
}

}  // namespace sliced
