import Glibc

/// The time of a monotonic clock in nanoseconds, starting at boot.
package func monotonicNanoseconds() -> UInt64 {
  var time = timespec()
  unsafe clock_gettime(CLOCK_MONOTONIC, &time)
  return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
}

/// The time of the kernel's last tick on the same clock: up to some milliseconds old, at a seventh of the cost. Never
/// 0.
@inline(__always)
func coarseMonotonicNanoseconds() -> UInt64 {
  var time = timespec()
  unsafe clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
  return max(1, UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec))
}

/// Nanoseconds since 1970-01-01T00:00:00Z.
func wallClockNanoseconds() -> Int64 {
  var time = timespec()
  unsafe clock_gettime(CLOCK_REALTIME, &time)
  return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
}

extension Duration {
  /// At least zero and at most about 146 years, so that adding it to a clock's time does not overflow.
  package var clampedNanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    if seconds < 0 || attoseconds < 0 { return 0 }
    if seconds >= Int64.max / 2_000_000_000 { return UInt64(Int64.max / 2) }
    return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
  }
}
