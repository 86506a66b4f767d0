import CKVCloneLMDB
import Glibc

/// Temporary memory of one operation, for data that grows with its input: as much as the disk has free, in pages that
/// the kernel can reclaim.
///
/// Large regions are mapped from an unnamed file in the caller's directory; the kernel writes their pages out when it
/// needs the memory, which without swap it cannot do with memory from `malloc`. Small regions come from `malloc`, so
/// small operations create no file. Disk space is reserved before it is mapped: a full disk is an error of
/// ``allocate(_:)``, never a signal when a page is written.
///
/// For one thread at a time. Deallocates its regions when it is released.
@safe
package final class ScratchSpace {
  /// A region of the space. Its bytes are uninitialized.
  @safe
  package struct Region {
    package let start: UnsafeMutableRawPointer
    package let byteCount: Int
    fileprivate let isMapped: Bool
  }

  /// The size in bytes from which regions are mapped instead of allocated by `malloc`.
  package static let mappedFrom = 1 << 20

  private let directory: () -> String
  private var descriptor: Int32 = -1
  private var fileLength = 0
  /// Free mapped regions, by size: sizes are powers of two, so that regions are reused.
  private var free: [Int: [Region]] = [:]
  private var mappings: [Region] = []

  /// - Parameter directory: the directory of the file; evaluated when one is needed.
  package init(directory: @escaping @autoclosure () -> String) {
    self.directory = directory
  }

  /// Allocates at least `byteCount` bytes, aligned for any number.
  package func allocate(_ byteCount: Int) throws(LMDBError) -> Region {
    var size = 64
    while size < byteCount { size *= 2 }
    guard size >= Self.mappedFrom else {
      let start = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
      return unsafe Region(start: start, byteCount: size, isMapped: false)
    }
    if let region = free[size]?.popLast() { return region }
    let region = try map(size)
    mappings.append(region)
    return region
  }

  /// Deallocates a region.
  package func deallocate(_ region: Region) {
    if region.isMapped {
      free[region.byteCount, default: []].append(region)
    } else {
      unsafe region.start.deallocate()
    }
  }

  private func map(_ size: Int) throws(LMDBError) -> Region {
    if descriptor < 0 { descriptor = try UnnamedFile.make(in: directory()) }
    var code: Int32
    repeat { code = posix_fallocate(descriptor, off_t(fileLength), off_t(size)) } while code == EINTR
    guard code == 0 else { throw LMDBError(code: code, operation: "posix_fallocate of scratch space") }
    let start = unsafe mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, off_t(fileLength))
    guard let start = unsafe start, unsafe start != MAP_FAILED else {
      throw LMDBError(code: errno, operation: "mmap of scratch space")
    }
    fileLength += size
    return unsafe Region(start: start, byteCount: size, isMapped: true)
  }

  deinit {
    for mapping in mappings { unsafe munmap(mapping.start, mapping.byteCount) }
    if descriptor >= 0 { close(descriptor) }
  }
}
