import KVCloneCore
import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// The operations of a plan in their order, which may exceed memory. A reference type.
package final class OperationLog {
  private let schema: Schema
  private let records: ScratchRecords
  /// The number of operations; the deletion is one.
  package private(set) var count = 0
  /// The estimated size of the records, lists and index entries that the operations write, in bytes.
  package private(set) var estimatedByteCount: UInt64 = 0
  /// Whether an operation sets an attribute to a blob.
  private(set) var hasBlobs = false
  /// The objects of the deletion.
  private(set) var deleted = ObjectSet()

  init(_ schema: Schema, in space: ScratchSpace) {
    self.schema = schema
    records = ScratchRecords(in: space)
  }

  package var isEmpty: Bool { count == 0 }

  // MARK: Writing

  func insert(_ id: ObjectID, _ entity: CompiledEntity, _ values: [MergeOperation.Assignment]) throws(StoreError) {
    try append(1, id, entity)
    try append(values)
  }

  func set(_ id: ObjectID, _ entity: CompiledEntity, _ values: [MergeOperation.Assignment]) throws(StoreError) {
    try append(2, id, entity)
    try append(values)
  }

  func setTarget(
    _ id: ObjectID, _ entity: CompiledEntity, _ relationship: CompiledRelationship, _ target: ObjectID?
  ) throws(StoreError) {
    try append(3, id, entity, relationship)
    try records.append(target)
    estimatedByteCount += 192
  }

  func changeMembers(
    _ id: ObjectID, _ entity: CompiledEntity, _ relationship: CompiledRelationship, added: [ObjectID],
    removed: [ObjectID]
  ) throws(StoreError) {
    try append(4, id, entity, relationship)
    try records.append(added)
    try records.append(removed)
    estimatedByteCount += 96 * UInt64(1 + added.count + removed.count)
  }

  func setOrder(
    _ id: ObjectID, _ entity: CompiledEntity, _ relationship: CompiledRelationship, _ members: [ObjectID]
  ) throws(StoreError) {
    try append(5, id, entity, relationship)
    try records.append(members)
    estimatedByteCount += 96 + 8 * UInt64(members.count)
  }

  /// Sets the objects of the deletion, which is the last operation.
  func delete(_ ids: ObjectSet) {
    deleted = ids
    count += ids.isEmpty ? 0 : 1
    estimatedByteCount += 96 * UInt64(ids.count)
  }

  private func append(
    _ kind: UInt8, _ id: ObjectID, _ entity: CompiledEntity, _ relationship: CompiledRelationship? = nil
  ) throws(StoreError) {
    count += 1
    try records.append(kind)
    try records.append(id.rawValue)
    try records.append(entity.code)
    if let relationship { try records.append(relationship.code) }
  }

  private func append(_ values: [MergeOperation.Assignment]) throws(StoreError) {
    estimatedByteCount += 96
    try records.append(values.count)
    for value in values {
      try records.append(value.attribute.code)
      try records.append(value.value)
      estimatedByteCount += Self.size(of: value.value)
      if case .blob? = value.value { hasBlobs = true }
    }
  }

  private static func size(of value: AttributeValue?) -> UInt64 {
    switch value {
    case nil: 0
    case .string(let text), .uri(let text): UInt64(text.utf8.count)
    case .binary(let data), .transformable(let data): UInt64(data.count)
    case .composite(let elements): elements.values.reduce(0) { $0 + size(of: $1) }
    default: 16
    }
  }

  // MARK: Reading

  /// Calls `body` with each operation in order, and with the entity of its object; nil for the deletion.
  func forEach<E: Error>(_ body: (MergeOperation, CompiledEntity?) throws(E) -> Void) throws(E) {
    var reader = records.reader()
    while !reader.isAtEnd {
      let (kind, id) = (reader.number(UInt8.self), ObjectID(rawValue: reader.number()))
      guard let entity = schema.entity(code: reader.number()) else { preconditionFailure("an unknown entity") }
      try body(operation(kind, id, entity, &reader), entity)
    }
    if !deleted.isEmpty { try body(.delete(deleted), nil) }
  }

  private func operation(
    _ kind: UInt8, _ id: ObjectID, _ entity: CompiledEntity, _ reader: inout ScratchRecords.Reader
  ) -> MergeOperation {
    if kind <= 2 {
      let values = assignments(entity, &reader)
      return kind == 1 ? .insert(id, entity, values) : .set(id, entity, values)
    }
    guard let index = entity.relationshipIndexByCode[reader.number()] else {
      preconditionFailure("an unknown relationship")
    }
    let relationship = entity.relationships[index]
    switch kind {
    case 3: return .setTarget(id, relationship, reader.id())
    case 4:
      let added = reader.ids()
      return .changeMembers(id, relationship, added: added, removed: reader.ids())
    default: return .setOrder(id, relationship, reader.ids())
    }
  }

  private func assignments(_ entity: CompiledEntity, _ reader: inout ScratchRecords.Reader)
    -> [MergeOperation.Assignment]
  {
    var values: [MergeOperation.Assignment] = []
    // Most values are in the order of the entity.
    var index = 0
    for _ in 0..<reader.number(Int.self) {
      let code = reader.number(UInt16.self)
      let found = entity.attributes[index...].firstIndex { $0.code == code }
      guard let place = found ?? entity.attributes.firstIndex(where: { $0.code == code }) else {
        preconditionFailure("an unknown attribute")
      }
      values.append(.init(attribute: entity.attributes[place], value: reader.value()))
      index = place
    }
    return values
  }
}
