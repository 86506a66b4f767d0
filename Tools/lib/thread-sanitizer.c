// Loaded before the Swift libraries when tests run under the thread sanitizer. It sees what is compiled with it: the fast paths of
// `Synchronization.Mutex`, which are inlined. Where threads contend, the library's own paths lock, and the kernel writes the word:
// without what this adds, each contended lock would be reported as a race of what it guards.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

// Only programs built with the sanitizer have them.
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
