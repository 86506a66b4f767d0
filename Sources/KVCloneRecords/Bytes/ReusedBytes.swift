/// A reused byte buffer: it grows, and is freed with the object.
///
/// Unlike an array's, its address is stable until the next change, so that it can be passed to calls of the storage
/// engine directly.
package final class ReusedBytes {
  private var start: UnsafeMutableRawPointer
  private var capacity: Int
  package private(set) var count = 0

  package init(capacity: Int = 64) {
    self.capacity = max(1, capacity)
    start = .allocate(byteCount: self.capacity, alignment: 8)
  }

  deinit { start.deallocate() }

  /// Valid until the next change.
  package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

  var mutableBytes: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: start, count: count) }

  package func removeAll() { count = 0 }

  /// - Parameter bytes: may be a part of these bytes from before a `removeAll`.
  package func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress, !bytes.isEmpty else { return }
    let old = reserve(count + bytes.count)
    (start + count).copyMemory(from: source, byteCount: bytes.count)
    old?.deallocate()
    count += bytes.count
  }

  package func append(_ byte: UInt8) {
    reserve(count + 1)?.deallocate()
    start.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count += 1
  }

  package func appendBigEndian(_ number: some FixedWidthInteger) {
    withUnsafeBytes(of: number.bigEndian) { append($0) }
  }

  /// Replaces the content by a number, bytes and a number; `bytes` may be a part of the content.
  func set(_ prefix: UInt16, _ bytes: UnsafeRawBufferPointer, _ suffix: UInt64) {
    let length = 2 + bytes.count + 8
    count = 0
    let old = reserve(length)
    if let source = bytes.baseAddress { (start + 2).copyMemory(from: source, byteCount: bytes.count) }
    old?.deallocate()
    start.storeBytes(of: prefix.bigEndian, as: UInt16.self)
    start.storeBytes(of: suffix.bigEndian, toByteOffset: length - 8, as: UInt64.self)
    count = length
  }

  /// Replaces the content by two numbers and bytes, which must not be a part of the content.
  func set(_ first: UInt32, _ second: UInt16, _ bytes: UnsafeRawBufferPointer) {
    count = 0
    let old = reserve(6 + bytes.count)
    old?.deallocate()
    start.storeBytes(of: first.bigEndian, as: UInt32.self)
    start.storeBytes(of: second.bigEndian, toByteOffset: 4, as: UInt16.self)
    if let source = bytes.baseAddress { (start + 6).copyMemory(from: source, byteCount: bytes.count) }
    count = 6 + bytes.count
  }

  /// Reserves memory; returns the previous memory if it was replaced.
  private func reserve(_ wanted: Int) -> UnsafeMutableRawPointer? {
    if wanted <= capacity { return nil }
    capacity = max(wanted, 2 * capacity)
    let old = start
    start = .allocate(byteCount: capacity, alignment: 8)
    start.copyMemory(from: old, byteCount: count)
    return old
  }
}
