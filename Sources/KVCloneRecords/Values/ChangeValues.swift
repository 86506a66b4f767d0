package import KVCloneModel

/// Part 0 of a commit's history: its common properties.
///
/// flags u32 (0) | parts u32 | time f64 (seconds since 2001) | inserted u64 | updated u64 | deleted u64 | author:
/// length u32, UTF-8 | operation: length u32, UTF-8 | user info: length u32, JSON.
package struct ChangeHeader: ValueCodec, Hashable {
  /// The number of parts after this one.
  package var partCount: UInt32
  package var time: Double
  package var insertedCount: UInt64
  package var updatedCount: UInt64
  package var deletedCount: UInt64
  /// The author given by the caller; empty if none.
  package var author: String
  /// The operation, such as `clone`; empty for a plain write.
  package var operation: String
  /// JSON, or empty.
  package var userInfo: [UInt8]

  package init(
    partCount: UInt32, time: Double, insertedCount: UInt64, updatedCount: UInt64, deletedCount: UInt64,
    author: String = "", operation: String = "", userInfo: [UInt8] = []
  ) {
    self.partCount = partCount
    self.time = time
    self.insertedCount = insertedCount
    self.updatedCount = updatedCount
    self.deletedCount = deletedCount
    self.author = author
    self.operation = operation
    self.userInfo = userInfo
  }

  package func write(to writer: inout ByteWriter) {
    writer.put32(0)
    writer.put32(partCount)
    writer.putDouble(time)
    writer.put64(insertedCount)
    writer.put64(updatedCount)
    writer.put64(deletedCount)
    writer.putString(author)
    writer.putString(operation)
    writer.putBytes(userInfo)
  }

  package init(from reader: inout ByteReader) throws(RecordError) {
    guard try reader.get32() == 0 else { throw .badFlag }
    partCount = try reader.get32()
    time = try reader.getDouble()
    insertedCount = try reader.get64()
    updatedCount = try reader.get64()
    deletedCount = try reader.get64()
    author = try reader.getString()
    operation = try reader.getString()
    userInfo = try reader.getBytes()
  }
}

/// Parts 1… of a commit's history: kind u8 | flags u8 (0) | reserved u16 (0) | entries u32 | entries.
package enum ChangePart: ValueCodec, Hashable {
  /// Inserted objects with consecutive serials.
  package struct Inserted: Hashable, Sendable {
    package var first: ObjectID
    package var count: UInt64

    package init(first: ObjectID, count: UInt64) {
      self.first = first
      self.count = count
    }
  }

  package struct Updated: Hashable, Sendable {
    package var id: ObjectID
    /// Codes of the changed properties, ascending.
    package var properties: [UInt16]

    package init(id: ObjectID, properties: [UInt16]) {
      self.id = id
      self.properties = properties
    }
  }

  package struct Deleted: Hashable, Sendable {
    package var id: ObjectID
    /// The concrete entity, which is not part of the id.
    package var entityCode: UInt16
    /// JSON of the attributes that the model preserves after deletion, or empty.
    package var tombstone: [UInt8]

    package init(id: ObjectID, entityCode: UInt16, tombstone: [UInt8] = []) {
      self.id = id
      self.entityCode = entityCode
      self.tombstone = tombstone
    }
  }

  /// Kind 1; per entry: first id u64, count u64.
  case inserted([Inserted])
  /// Kind 2; per entry: id u64, properties u16, code u16 each.
  case updated([Updated])
  /// Kind 3; per entry: id u64, entity u16, tombstone: length u32, bytes.
  case deleted([Deleted])

  package func write(to writer: inout ByteWriter) {
    let (kind, count) =
      switch self {
      case .inserted(let entries): (1, entries.count)
      case .updated(let entries): (2, entries.count)
      case .deleted(let entries): (3, entries.count)
      }
    precondition(count <= FormatLimits.changePartCapacity, "a longer list has several parts")
    writer.put32(UInt32(kind))
    writer.put32(UInt32(count))
    switch self {
    case .inserted(let entries):
      for entry in entries {
        writer.put64(entry.first.rawValue)
        writer.put64(entry.count)
      }
    case .updated(let entries):
      for entry in entries {
        writer.put64(entry.id.rawValue)
        writer.put16(UInt16(entry.properties.count))
        for code in entry.properties { writer.put16(code) }
      }
    case .deleted(let entries):
      for entry in entries {
        writer.put64(entry.id.rawValue)
        writer.put16(entry.entityCode)
        writer.putBytes(entry.tombstone)
      }
    }
  }

  package init(from reader: inout ByteReader) throws(RecordError) {
    switch try reader.get32() {
    case 1: self = .inserted(try Self.readInserted(&reader))
    case 2: self = .updated(try Self.readUpdated(&reader))
    case 3: self = .deleted(try Self.readDeleted(&reader))
    default: throw .badFlag
    }
  }

  private static func entryCount(_ reader: inout ByteReader, width: Int) throws(RecordError) -> Int {
    let count = try reader.getCount(width: width)
    guard count <= FormatLimits.changePartCapacity else { throw .badCount }
    return count
  }

  private static func readInserted(_ reader: inout ByteReader) throws(RecordError) -> [Inserted] {
    var entries: [Inserted] = []
    for _ in 0..<(try entryCount(&reader, width: 16)) {
      let entry = Inserted(first: ObjectID(rawValue: try reader.get64()), count: try reader.get64())
      let last = entry.first.serial.addingReportingOverflow(entry.count &- 1)
      guard entry.count > 0, !last.overflow, last.partialValue <= FormatLimits.maximumSerial else { throw .badCount }
      entries.append(entry)
    }
    return entries
  }

  private static func readUpdated(_ reader: inout ByteReader) throws(RecordError) -> [Updated] {
    var entries: [Updated] = []
    for _ in 0..<(try entryCount(&reader, width: 10)) {
      var entry = Updated(id: ObjectID(rawValue: try reader.get64()), properties: [])
      for _ in 0..<(try reader.get16()) {
        let code = try reader.get16()
        if let last = entry.properties.last, last >= code { throw .badOrder }
        entry.properties.append(code)
      }
      entries.append(entry)
    }
    return entries
  }

  private static func readDeleted(_ reader: inout ByteReader) throws(RecordError) -> [Deleted] {
    var entries: [Deleted] = []
    for _ in 0..<(try entryCount(&reader, width: 14)) {
      entries.append(
        Deleted(
          id: ObjectID(rawValue: try reader.get64()), entityCode: try reader.get16(),
          tombstone: try reader.getBytes()))
    }
    return entries
  }
}
