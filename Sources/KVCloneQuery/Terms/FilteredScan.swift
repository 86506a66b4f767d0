import KVCloneCore
import KVCloneModel
import KVCloneRecords

enum FilteredScan {
  /// Calls `body` with the records of an entity's objects that a filter accepts, by ascending serial, until it returns
  /// false. The filter drops most of the others by their bytes.
  ///
  /// - Parameters:
  ///   - start: the first serial.
  ///   - end: the first serial that is not read; nil for all to the end.
  static func forEachRecord(
    of entity: CompiledEntity, includesSubentities: Bool, from start: UInt64 = 0, before end: UInt64? = nil,
    through filter: inout RecordFilter, in session: borrowing Session,
    _ body: (ObjectID, borrowing RecordView) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let key = ShortKey.object(ObjectID(rootCode: entity.rootCode, serial: start))
    let schema = session.schema
    var known = KnownLayout(entity.wantedCodes(includesSubentities: includesSubentities))
    var windows = ReadWindows(session.storage)
    let last = end.map { ObjectID(rootCode: entity.rootCode, serial: $0) }
    // Empty for a scan to the end of the table.
    let endKey = last.map { withUnsafeBytes(of: $0.rawValue.bigEndian) { Array($0) } } ?? []
    try session.storage.scan(entity.table, from: key.bytes, before: endKey.span.bytes) {
      (key, value) throws(StoreError) in
      if let last, try schema.objectID(key) >= last { return false }
      let verdict = filter.judge(copy key, copy value)
      if case .dropped = verdict { return true }
      windows.next()
      let id = try schema.objectID(key)
      guard let layout = try known.layout(of: copy value, id, schema) else { return true }
      var isIntact = false
      if case .kept = verdict { isIntact = true }
      let view =
        isIntact
        ? try schema.view(ofIntact: copy value, layout, id: id) : try schema.view(of: copy value, layout, id: id)
      guard try filter.holds(id, view, session) else { return true }
      return try body(id, view)
    }
  }
}
