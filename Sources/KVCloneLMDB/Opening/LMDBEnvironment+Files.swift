import CKVCloneLMDB
import Glibc

extension LMDBEnvironment {
  /// Watches the data file for commits, of this process and others.
  package func watchWrites(_ onWrite: @escaping @Sendable () -> Void) -> FileWatcher {
    // By its descriptor: the directory may have been renamed.
    let descriptor = core.state.withLock { $0.isClosed ? nil : core.descriptor }
    return FileWatcher(path: descriptor.map { "/proc/self/fd/\($0)" } ?? StorePaths(directory).data, onWrite: onWrite)
  }
}

extension LMDBEnvironment {
  /// For a file that is to share blocks with `data.mdb`, or to take its place.
  package var copyOnWrite: CopyOnWrite {
    let isOff = try? whileOpen { () throws(LMDBError) in core.descriptor.flatMap { CopyOnWrite.isOff(descriptor: $0) } }
    return isOff.map { .like(isOff: $0) } ?? .asAbove
  }
}

extension LMDBEnvironment {
  /// Has the kernel begin to write what `data.mdb` has in memory, so that who shares its blocks waits for less under the write
  /// lock. No error is taken from those who sync the file.
  package func writeBackAhead() {
    try? whileOpen { () throws(LMDBError) in
      if let descriptor = core.descriptor { kvclone_begin_writing_back(descriptor) }
    }
  }

  /// On btrfs, makes large extents of the small ones at the end of `data.mdb`, so that who shares its blocks waits for less under
  /// the write lock: that takes the kernel 7 us for each extent, and small commits leave one for every page that they append.
  ///
  /// From the end backwards, for some 10 ms: what came last is in pieces, and what was merged once is passed over at 7 ms a GB. The
  /// pieces are written again, so files that share them no longer do; no error matters here.
  package func mergeLastExtents() {
    let window: UInt64 = 8 << 20
    try? whileOpen { () throws(LMDBError) in
      guard let descriptor = core.descriptor, CopyOnWrite.isOff(descriptor: descriptor) != nil else { return }
      guard let byteCount = try? FileSystem.facts(descriptor: descriptor).byteCount else { return }
      var end = UInt64(max(0, byteCount))
      let limit = ContinuousClock.now + .milliseconds(10)
      while end > 0 {
        let start = (end - 1) / window * window
        if kvclone_merge_extents(descriptor, start, end - start) != 0 { return }
        end = start
        if ContinuousClock.now > limit { return }
      }
    }
  }
}
