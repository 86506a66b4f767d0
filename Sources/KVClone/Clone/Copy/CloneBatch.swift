import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// Records that were copied out of a table, so that it can be appended to while they are processed: each becomes its
/// clone's record in place, and is appended from there.
struct CloneBatch: ~Copyable {
  private static let byteLimit = 256 << 10
  private static let countLimit = 2048
  /// For a small clone: memory that fits the processor's cache, and is cheap to allocate.
  private static let smallByteLimit = 32 << 10
  private static let smallCountLimit = 256
  private static let keyLength = 8

  /// A record. Its bytes are preceded by space for a key.
  private struct Place {
    let id: ObjectID
    let offset: Int
    let byteCount: Int
  }

  private var storage: UnsafeMutableRawPointer
  private var capacity: Int
  private var length = 0
  private let places: UnsafeMutablePointer<Place>
  /// The maximum number of records.
  private let limit: Int
  /// The number of bytes at which the batch is full.
  private let byteLimit: Int
  private(set) var count = 0
  /// The entries that are ready to be appended.
  private let run: UnsafeMutablePointer<StorageEntryPointers>
  private var runCount = 0

  /// - Parameter expectedCount: the expected number of records of a table, which determines only the allocated memory.
  init(expectedCount: Int) {
    let isSmall = expectedCount <= CloneSet.smallLimit
    limit = min(max(1, expectedCount), isSmall ? Self.smallCountLimit : Self.countLimit)
    byteLimit = isSmall ? Self.smallByteLimit : Self.byteLimit
    // Most records fit; larger ones make it grow.
    capacity = min(limit * 256, byteLimit + byteLimit / 16)
    storage = .allocate(byteCount: capacity, alignment: 8)
    places = .allocate(capacity: limit)
    run = .allocate(capacity: limit)
  }

  deinit {
    storage.deallocate()
    places.deallocate()
    run.deallocate()
  }

  var isFull: Bool { length >= byteLimit || count >= limit }

  mutating func removeAll() {
    count = 0
    length = 0
    runCount = 0
  }

  /// Copies a record.
  @inline(__always)
  mutating func append(_ id: ObjectID, _ bytes: borrowing RawSpan) {
    let offset = length &+ Self.keyLength
    let end = (offset &+ bytes.byteCount &+ 7) & ~7
    if end > capacity { grow(to: end) }
    bytes.withUnsafeBytes { bytes in
      if let start = bytes.baseAddress { (storage + offset).copyMemory(from: start, byteCount: bytes.count) }
    }
    (places + count).initialize(to: Place(id: id, offset: offset, byteCount: bytes.byteCount))
    count &+= 1
    length = end
  }

  @inline(never)
  private mutating func grow(to wanted: Int) {
    let larger = max(wanted, 2 * capacity)
    let memory = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 8)
    memory.copyMemory(from: storage, byteCount: length)
    storage.deallocate()
    storage = memory
    capacity = larger
  }

  /// The object that a record was copied from.
  @inline(__always)
  func id(_ index: Int) -> ObjectID { places[index].id }

  /// A record's bytes, to be patched in place.
  @inline(__always)
  func bytes(_ index: Int) -> UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(start: storage + places[index].offset, count: places[index].byteCount)
  }

  /// Marks a record as the clone's, to be appended under its id.
  @inline(__always)
  mutating func finish(_ index: Int, as clone: ObjectID, byteCount: Int) {
    let value = storage + places[index].offset
    let key = value - Self.keyLength
    ShortKey.writeObject(clone, to: key)
    (run + runCount).initialize(
      to: StorageEntryPointers(
        key: UnsafeRawBufferPointer(start: key, count: Self.keyLength),
        value: UnsafeRawBufferPointer(start: value, count: byteCount)))
    runCount &+= 1
  }

  /// Appends the finished records.
  mutating func flush(to storage: inout StorageTransaction, _ table: StorageTable) throws(StoreError) {
    if runCount == 0 { return }
    try storage.appendRun(table, UnsafeBufferPointer(start: run, count: runCount))
    runCount = 0
  }
}
