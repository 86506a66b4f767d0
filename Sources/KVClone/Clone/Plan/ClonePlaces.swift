import KVCloneCore
import KVCloneModel

/// The ids of an operation's clones in a state of the destination.
///
/// Assigned by root entity, and for each, copy after copy: several root entities of the source may be subentities of
/// one root entity in the destination, and share its serials.
struct ClonePlaces {
  /// The id of the first clone of a root entity, by the root code of the sources.
  private(set) var first: [UInt16: ObjectID] = [:]
  /// The serials of the clones, by the root code in the destination.
  private(set) var ranges: [UInt16: SerialRange] = [:]

  struct SerialRange {
    let first: UInt64
    let count: UInt64
  }

  init(_ mark: CloneMark, _ bridge: CloneBridge?, copies: Int, _ schema: Schema, in destination: borrowing Session)
    throws
  {
    for set in mark.set.roots {
      // A link may contain any id, and an object without edges to follow has not been read yet.
      guard schema.objectTable(rootCode: set.rootCode) != nil else {
        throw schema.notFound(ObjectID(rootCode: set.rootCode, serial: set.next(from: 0) ?? 0))
      }
      let (count, overflows) = set.count.multipliedReportingOverflow(by: copies)
      guard !overflows else {
        throw CloneError(
          .limitExceeded, "\(copies) copies exceed the range of object ids; request fewer copies",
          entity: schema.entity(code: set.rootCode)?.name)
      }
      // The planner reports an entity that the destination lacks.
      guard let code = bridge == nil ? set.rootCode : bridge?.rootCode(of: set.rootCode) else { continue }
      let before = ranges[code]?.count ?? 0
      let next = try destination.nextSerial(rootCode: code, count: before + UInt64(count))
      first[set.rootCode] = ObjectID(rootCode: code, serial: next + before)
      ranges[code] = SerialRange(first: next, count: before + UInt64(count))
    }
  }

  /// Whether the ids are still the next ones in a transaction on the commit that they were planned for: only an aborted
  /// transaction of this process can have used serials since.
  func areFree(in session: borrowing Session) -> Bool {
    ranges.allSatisfy { session.serialFloor.next(rootCode: $0.key) <= $0.value.first }
  }

  /// Allocates the serials.
  func take(in session: inout Session) throws(StoreError) {
    for (code, range) in ranges.sorted(by: { $0.key < $1.key }) {
      guard session.takeSerials(rootCode: code, from: range.first, count: range.count) else {
        throw StoreError(.busy, "another transaction allocated ids while the clone was planned; retry the clone")
      }
      session.state.history?.noteInserts(from: ObjectID(rootCode: code, serial: range.first), count: range.count)
    }
  }
}
