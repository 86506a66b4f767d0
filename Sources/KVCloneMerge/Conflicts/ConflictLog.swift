#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneCore
import KVCloneLMDB
import KVCloneModel

/// The conflicts of a plan with their answers, which may exceed memory. A reference type.
///
/// Sendable because it is not changed once the plan is made, reading takes no lock, and no other object uses its scratch
/// space.
final class ConflictLog: @unchecked Sendable {
  private let records: ScratchRecords
  /// The addresses of all conflicts.
  private let all: ScratchArray<UInt64>
  /// The addresses of those without an answer.
  private let open: ScratchArray<UInt64>

  init(in space: ScratchSpace) {
    records = ScratchRecords(in: space)
    all = ScratchArray(in: space)
    open = ScratchArray(in: space)
  }

  var count: Int { all.count }
  var openCount: Int { open.count }

  subscript(index: Int) -> ResolvedConflict { conflict(at: all[index]) }

  func openConflict(_ index: Int) -> ObjectConflict { conflict(at: open[index]).conflict }

  func append(_ resolved: ResolvedConflict) throws(StoreError) {
    try all.append(records.end)
    if resolved.answer == nil { try open.append(records.end) }
    try records.append(resolved.conflict)
    try records.append(resolved.answer)
  }

  /// Sorts the conflicts by ids. Needs 24 bytes of memory for each.
  func sort() {
    for addresses in [all, open] {
      var places = addresses.indices.map { (id: conflict(at: addresses[$0]).conflict.id, address: addresses[$0]) }
      places.sort { left, right in
        if left.id != right.id { return left.id < right.id }
        return conflict(at: left.address).conflict.place < conflict(at: right.address).conflict.place
      }
      for (index, place) in places.enumerated() { addresses[index] = place.address }
    }
  }

  private func conflict(at address: UInt64) -> ResolvedConflict {
    var reader = records.reader(at: address)
    return ResolvedConflict(conflict: reader.conflict(), answer: reader.answer())
  }
}

extension ScratchRecords {
  fileprivate func append(_ conflict: ObjectConflict) throws(StoreError) {
    try append(conflict.kind.rank)
    try append(conflict.id.rawValue)
    try append(conflict.entity)
    try appendOptional(conflict.property) { (text) throws(StoreError) in try append(text) }
    try append(conflict.other)
    try append(conflict.side.map { $0 == .ours ? 1 : 2 } ?? 0 as UInt8)
    for value in [conflict.base, conflict.ours, conflict.theirs] {
      try appendOptional(value) { (value) throws(StoreError) in try append(value) }
    }
    for change in [conflict.oursChange, conflict.theirsChange] {
      try appendOptional(change) { (change) throws(StoreError) in
        try append(change.commit)
        try append(change.author)
        try appendOptional(change.date) { (date) throws(StoreError) in
          try append(date.timeIntervalSinceReferenceDate.bitPattern)
        }
      }
    }
    try append(conflict.fingerprint)
  }

  private func append(_ value: ObjectConflict.Value) throws(StoreError) {
    switch value {
    case .attribute(let value):
      try append(1 as UInt8)
      try append(value)
    case .object(let id):
      try append(2 as UInt8)
      try append(id)
    case .members(let ids):
      try append(3 as UInt8)
      try append(ids)
    }
  }

  func append(_ answer: ConflictAnswer?) throws(StoreError) {
    switch answer {
    case nil: try append(0 as UInt8)
    case .side(.ours): try append(1 as UInt8)
    case .side(.theirs): try append(2 as UInt8)
    case .attribute(let value):
      try append(3 as UInt8)
      try append(value)
    case .object(let id):
      try append(4 as UInt8)
      try append(id)
    case .order(let ids):
      try append(5 as UInt8)
      try append(ids)
    case .refuse: try append(6 as UInt8)
    }
  }

  private func appendOptional<Value>(_ value: Value?, _ body: (Value) throws(StoreError) -> Void) throws(StoreError) {
    try append(value == nil ? 0 : 1 as UInt8)
    if let value { try body(value) }
  }
}

extension ScratchRecords.Reader {
  fileprivate mutating func conflict() -> ObjectConflict {
    let kind = ObjectConflict.Kind.allCases[number(Int.self)]
    let (id, entity) = (ObjectID(rawValue: number()), text())
    let (property, other) = (optional { $0.text() }, self.id())
    let side: MergeSide? =
      switch number(UInt8.self) {
      case 1: .ours
      case 2: .theirs
      default: nil
      }
    let values = (0..<3).map { _ in optional { $0.conflictValue() } }
    let changes = (0..<2).map { _ in optional { $0.change() } }
    return ObjectConflict(
      kind: kind, id: id, entity: entity, property: property, other: other, side: side, base: values[0],
      ours: values[1], theirs: values[2], oursChange: changes[0], theirsChange: changes[1], fingerprint: number())
  }

  private mutating func conflictValue() -> ObjectConflict.Value {
    switch number(UInt8.self) {
    case 1: .attribute(value())
    case 2: .object(id())
    default: .members(ids())
    }
  }

  private mutating func change() -> ObjectChange {
    ObjectChange(
      commit: number(), author: text(),
      date: optional { Date(timeIntervalSinceReferenceDate: Double(bitPattern: $0.number())) })
  }

  mutating func answer() -> ConflictAnswer? {
    switch number(UInt8.self) {
    case 1: .side(.ours)
    case 2: .side(.theirs)
    case 3: .attribute(value())
    case 4: .object(id())
    case 5: .order(ids())
    case 6: .refuse
    default: nil
    }
  }

  private mutating func optional<Value>(_ body: (inout Self) -> Value) -> Value? {
    number(UInt8.self) == 0 ? nil : body(&self)
  }
}
