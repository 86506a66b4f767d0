import CKVCloneLMDB
import Glibc

extension LMDBEnvironment {
  /// Watches the data file for commits, of this process and others.
  package func watchWrites(_ onWrite: @escaping @Sendable () -> Void) -> FileWatcher {
    // By its descriptor, because the directory may have been renamed.
    let descriptor = core.state.withLock { $0.isClosed ? nil : core.descriptor }
    return FileWatcher(path: descriptor.map { "/proc/self/fd/\($0)" } ?? StorePaths(directory).data, onWrite: onWrite)
  }
}

extension LMDBEnvironment {
  /// The setting for a file that will share blocks with `data.mdb`, or replace it.
  package var copyOnWrite: CopyOnWrite {
    let isOff = try? whileOpen { () throws(LMDBError) in core.descriptor.flatMap { CopyOnWrite.isOff(descriptor: $0) } }
    return isOff.map { .like(isOff: $0) } ?? .asAbove
  }
}

extension LMDBEnvironment {
  /// Starts writing the dirty pages of `data.mdb`, which shortens a following reflink under the write lock. Does not
  /// consume a write error that a sync should report.
  package func writeBackAhead() {
    try? whileOpen { () throws(LMDBError) in
      if let descriptor = core.descriptor { kvclone_begin_writing_back(descriptor) }
    }
  }

  /// On btrfs, merges the small extents at the end of `data.mdb`, which shortens a following reflink under the write
  /// lock: it takes the kernel 7 us for each extent, and small commits leave one for every page that they append.
  ///
  /// Works backwards from the end, for some 10 ms: recent pages are fragmented, and merged ones are passed over at 7 ms
  /// a GB. Merged blocks are written again, so files that share them no longer do. Errors are ignored.
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
