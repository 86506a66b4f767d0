import KVCloneModel

/// The result of filtering a stored record by its bytes, before a view is created.
package enum RecordVerdict {
  /// Undecided: the record has another layout, is corrupted, or needs to be read as a whole.
  case unknown
  /// The checksum is right, and the tests reject the record.
  case dropped
  /// The checksum is right, and no test rejects the record.
  case kept
}

/// Filters a table's records by field tests. Most are rejected, and of these only the checksum and the tested fields
/// are read; reads stay within the record, whatever its bytes are.
package struct RecordSieve {
  private let layout: RecordLayout
  private let readsTexts: Bool

  /// - Parameter readsTexts: whether a test compares a text.
  package init(_ layout: RecordLayout, readsTexts: Bool) {
    self.layout = layout
    self.readsTexts = readsTexts
  }

  /// - Parameters:
  ///   - key: the record's key.
  ///   - value: the stored record.
  ///   - needed: tests of this layout that all have to hold.
  ///   - refused: tests of this layout of which at least one must not hold; may be empty.
  package func judge(
    _ key: RawSpan, _ value: RawSpan, needed: UnsafeBufferPointer<FieldTest>, refused: UnsafeBufferPointer<FieldTest>
  ) -> RecordVerdict {
    let (keyBytes, bytes) = (key.withUnsafeBytes { $0 }, value.withUnsafeBytes { $0 })
    let table = layout.table
    guard keyBytes.count == 8, let keyBase = keyBytes.baseAddress, let base = bytes.baseAddress,
      bytes.count >= table.pointee.fixedLength,
      base.number(at: RecordHeader.layout, UInt32.self) == table.pointee.layoutAndEntity
    else { return .unknown }
    let id = ObjectID(rawValue: keyBase.number(at: 0, UInt64.self).byteSwapped)
    guard ValueEnvelope.isIntact(bytes, seed: ValueEnvelope.seed(object: id)) else { return .unknown }
    var variableStart = table.pointee.fixedLength
    if readsTexts {
      for index in 0..<table.pointee.toManyCount {
        let head = ListHead(rawValue: base.number(at: table.pointee.headsOffset &+ 8 &* index, UInt64.self))
        guard head.isValid else { return .unknown }
        variableStart &+= 8 &* head.inlineCount
      }
      let length = bytes.count &- variableStart
      for test in needed where !test.isWithin(base, length) { return .unknown }
      for test in refused where !test.isWithin(base, length) { return .unknown }
    }
    for test in needed where !test.holds(base, variableStart) { return .dropped }
    if refused.isEmpty { return .kept }
    for test in refused where !test.holds(base, variableStart) { return .kept }
    return .dropped
  }
}
