// Preloaded when tests run under the thread sanitizer, which instruments only code compiled with it, such as the
// inlined fast paths of `Synchronization.Mutex`. With contention, functions of the library lock, and the kernel writes
// the word. Without the annotations here, the sanitizer would report a race on the protected data after each contended
// lock.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

// Defined only in programs built with the sanitizer.
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

SWIFT void kvclone_lock_slow(uint32_t owner, SELF void *word) __asm__(LOCK_SLOW);
SWIFT void kvclone_unlock_slow(SELF void *word) __asm__(UNLOCK_SLOW);

SWIFT void kvclone_lock_slow(uint32_t owner, SELF void *word) {
  typedef SWIFT void function(uint32_t, SELF void *);
  ((function *)dlsym(RTLD_NEXT, LOCK_SLOW))(owner, word);
  if (__tsan_acquire) __tsan_acquire(word);
}

SWIFT void kvclone_unlock_slow(SELF void *word) {
  typedef SWIFT void function(SELF void *);
  if (__tsan_release) __tsan_release(word);
  ((function *)dlsym(RTLD_NEXT, UNLOCK_SLOW))(word);
}
