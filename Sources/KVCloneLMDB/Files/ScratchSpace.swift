import CKVCloneLMDB
import Glibc

/// Room for what one piece of work has to remember and what grows with its input: as much as the disk has, in memory
/// that the kernel can take back.
///
/// Large regions are mapped from a file without a name in a folder of the caller's; the kernel writes their pages out
/// when it needs the memory, which it cannot do with what `malloc` hands out where there is no swap. Small ones come from
/// `malloc`, so small work makes no file. The file's room is reserved before it is mapped: a full disk is an error of
/// ``allocate(_:)``, never a signal when a page is written.
///
/// For one thread at a time. What it allocated dies with it.
@safe
package final class ScratchSpace {
  /// A piece of the space. Its bytes are whatever was there before.
  @safe
  package struct Region {
    package let start: UnsafeMutableRawPointer
    package let byteCount: Int
    fileprivate let isMapped: Bool
  }

  /// Below this many bytes, regions come from `malloc`.
  package static let mappedFrom = 1 << 20

  private let directory: () -> String
  private var descriptor: Int32 = -1
  private var fileLength = 0
  /// Mapped regions that were given back, by size: sizes are powers of two, so they are used again.
  private var free: [Int: [Region]] = [:]
  private var mappings: [Region] = []

  /// - Parameter directory: where the file is made; it is asked for once one is needed.
  package init(directory: @escaping @autoclosure () -> String) {
    self.directory = directory
  }

  /// At least so many bytes, aligned for any number.
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

  /// Gives a region back. It must not be used any more.
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
