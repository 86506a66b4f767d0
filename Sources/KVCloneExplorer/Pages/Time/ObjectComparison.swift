import KVClone
import KVCloneCore

/// One object in two states: the properties that differ.
struct ObjectComparison: Sendable {
  /// One side of a property.
  enum Side: Sendable {
    /// Nil for nil.
    case value(String?)
    /// The beginning of a string.
    case text(String)
    case bytes(count: UInt64, isImage: Bool)
    /// Members that only this state has: the first ones, the number of all, and the last listed one if others follow
    /// in a list of changes.
    case members([ObjectName], count: Int, last: ObjectID? = nil)
    /// The object does not exist in this state.
    case absent
  }

  struct Property: Sendable {
    var name: String
    var old: Side
    var new: Side
    /// The difference of two texts.
    var text: TextDifference?
    /// Whether members that remain have another order.
    var isReordered = false
  }

  private(set) var object: ObjectName
  private(set) var kind: SnapshotDifference.Kind?
  private(set) var properties: [Property] = []
  /// The JSON object of the difference, of objects that differ; nil in other formats.
  private(set) var json: String?

  /// The number of members that are listed.
  static let maximumMembers = 100
  /// The number of characters of a string that are shown.
  private static let maximumText = 20_000

  /// - Parameter writesJSON: whether the comparison has its JSON.
  /// - Throws: `objectNotFound` if the object is in neither state; `unknownEntity`, `invalidObjectName`.
  init(_ store: ObjectStore, _ object: ObjectName, from: StoreState, to: StoreState, writesJSON: Bool) throws {
    self.object = object
    self = try from.read(store) { old in
      try to.read(store) { new in
        try ObjectComparison(store, object, from, to, old, new, writesJSON: writesJSON)
      }
    }
  }

  private init(
    _ store: ObjectStore, _ object: ObjectName, _ from: StoreState, _ to: StoreState,
    _ old: borrowing ReadTransaction, _ new: borrowing ReadTransaction, writesJSON: Bool
  ) throws {
    self.object = object
    let id = try Self.id(object, old, new)
    guard let difference = try StoreState.difference(of: id, store, from: from, to: to) else { return }
    kind = difference.kind
    // The name that was given may be that of a super-entity.
    self.object = ObjectName(entity: difference.entityName, serial: id.serial)
    if writesJSON { json = try JSONWriter.object { try $0.difference(difference, old, new, .object) } }
    switch difference.kind {
    case .inserted:
      properties = try Self.all(id, new).map { Property(name: $0.name, old: .absent, new: $0.side) }
    case .deleted:
      properties = try Self.all(id, old).map { Property(name: $0.name, old: $0.side, new: .absent) }
    case .updated:
      for attribute in difference.attributes.sorted(by: { $0.name < $1.name }) {
        properties.append(
          Property(
            name: attribute.name, old: try Self.side(attribute.old, attribute.name, id, old),
            new: try Self.side(attribute.new, attribute.name, id, new), text: Self.text(attribute)))
      }
      for relationship in difference.relationships.sorted(by: { $0.name < $1.name }) {
        properties.append(
          Property(
            name: relationship.name, old: try Self.changed(relationship.removed, old),
            new: try Self.changed(relationship.added, new),
            isReordered: relationship.isReordered))
      }
    }
  }

  static func id(
    _ object: ObjectName, _ old: borrowing ReadTransaction, _ new: borrowing ReadTransaction
  ) throws -> ObjectID {
    do {
      return try new.objectID(named: object.text)
    } catch {
      if let id = try? old.objectID(named: object.text) { return id }
      throw error
    }
  }

  private static func text(_ attribute: SnapshotDifference.Attribute) -> TextDifference? {
    guard case .string(let old)? = attribute.old, case .string(let new)? = attribute.new else { return nil }
    return TextDifference(from: old, to: new)
  }

  /// All properties of an object that are not nil or empty.
  private static func all(_ id: ObjectID, _ state: borrowing ReadTransaction) throws -> [(name: String, side: Side)] {
    let object = try state.object(id)
    var found: [(name: String, side: Side)] = []
    for attribute in object.model.attributes(of: object.entityName) where attribute.isStored {
      guard let value = try object.value(attribute.name) else { continue }
      found.append((attribute.name, try side(value, attribute.name, id, state)))
    }
    for relationship in object.model.relationships(of: object.entityName) where !relationship.isTransient {
      let count = object.count(relationship.name)
      if count == 0 { continue }
      var ids: [ObjectID] = []
      try state.forEachMember(id, relationship.name) { member in
        ids.append(member)
        return ids.count < maximumMembers
      }
      found.append((relationship.name, try members(ids, count, state)))
    }
    return found
  }

  /// Describes a value; the beginning of binary data is read from the state.
  static func side(
    _ value: AttributeValue?, _ attribute: String, _ id: ObjectID, _ state: borrowing ReadTransaction
  ) throws -> Side {
    switch value {
    case nil: .value(nil)
    case .string(let text)?: .text(Excerpt.beginning(of: text, maximumText))
    case .binary(let data)?, .transformable(let data)?:
      .bytes(count: UInt64(data.count), isImage: isImage(Array(data.prefix(MediaType.sampleLength))))
    case .blob(let blob)?: .bytes(count: blob.byteCount, isImage: isImage(try sample(of: attribute, id, state)))
    case let value?: .value(ValueText.cell(value, isPlain: true))
    }
  }

  private static func isImage(_ sample: [UInt8]) -> Bool {
    if case .image = MediaType(sample, isWhole: false) { true } else { false }
  }

  /// Thrown to end the read of a blob.
  private struct Enough: Error {}

  private static func sample(of attribute: String, _ id: ObjectID, _ state: borrowing ReadTransaction) throws
    -> [UInt8]
  {
    var sample: [UInt8] = []
    do {
      _ = try state.readData(id, attribute) { chunk in
        sample.append(contentsOf: chunk.withUnsafeBytes { $0.prefix(MediaType.sampleLength - sample.count) })
        if sample.count == MediaType.sampleLength { throw Enough() }
      }
    } catch is Enough {}
    return sample
  }

  private static func changed(_ ids: [ObjectID], _ state: borrowing ReadTransaction) throws -> Side {
    let shown = ids.prefix(maximumMembers)
    guard case .members(let names, let count, _) = try members(Array(shown), ids.count, state) else { return .absent }
    return .members(names, count: count, last: ids.count > shown.count ? shown.last : nil)
  }

  /// Describes members by their names.
  static func members(_ ids: [ObjectID], _ count: Int, _ state: borrowing ReadTransaction) throws -> Side {
    let names = try ids.prefix(maximumMembers).map { try state.nameOfAny($0) }
    return .members(names.compactMap { ObjectName($0) }, count: count)
  }
}
