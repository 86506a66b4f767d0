import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Maps the entities of one store's model to those of another (R35): by name, once per concrete entity. Codes, layouts
/// and the order of declarations may differ.
///
/// A clone from a snapshot also has a bridge: the snapshot is another state of the same store. Ids, blobs and derived
/// attributes mean the same in both.
final class CloneBridge {
  let source: Schema
  let destination: Schema
  /// Whether the source is a snapshot of the same store.
  let isWithinStore: Bool
  /// By the source's entity code, created on first use.
  private var entities: [EntityBridge?]

  init(source: Schema, destination: Schema, isWithinStore: Bool = false) {
    self.source = source
    self.destination = destination
    self.isWithinStore = isWithinStore
    entities = Array(repeating: nil, count: Int(source.codes.lastEntity) + 1)
  }

  /// The bridge of a concrete entity of the source.
  func entity(_ entity: CompiledEntity) -> EntityBridge {
    if let known = entities[Int(entity.code)] { return known }
    let made = EntityBridge(entity, source: source, destination: destination, isWithinStore: isWithinStore)
    entities[Int(entity.code)] = made
    return made
  }

  /// The location of objects that are not cloned, for messages.
  var elsewhere: String { isWithinStore ? "" : " of the other store" }

  /// The root entity that provides the serials for clones of a root entity's objects; nil if the destination lacks the
  /// name.
  func rootCode(of rootCode: UInt16) -> UInt16? {
    source.entity(code: rootCode).flatMap { destination.entitiesByName[$0.name] }?.rootCode
  }
}

/// A concrete entity of the source, and its counterpart in the destination.
final class EntityBridge {
  let source: CompiledEntity
  /// The entity of the same name; the source's own if the destination has none, which `errors` reports.
  let destination: CompiledEntity
  /// Why objects of the entity cannot be cloned.
  let errors: [CloneError]
  /// By the index of the source's relationship; empty in case of errors.
  let relationships: [CompiledRelationship]
  /// By the source's field in its current layout: the destination's field; nil for fields that are not copied.
  let fields: [Int?]
  /// By the index of the destination's attribute: the index of the source's with its value.
  let attributes: [Int?]
  /// By the code of the source's hidden referrer list: the code of the destination's.
  let referrers: [UInt16: UInt16]
  /// Attributes that only the destination has.
  let defaults: [Default]
  private var layouts: [UInt16: LayoutBridge] = [:]

  /// The value of an attribute that only the destination has.
  struct Default {
    let field: Int
    let value: AttributeValue
    /// The copied fields of the same composite attribute: if all are nil, so is the composite (R21).
    let composite: [Int]
  }

  init(_ entity: CompiledEntity, source: Schema, destination schema: Schema, isWithinStore: Bool) {
    self.source = entity
    var compiler = EntityBridgeCompiler(
      source: entity, sourceSchema: source, schema: schema, takesDerived: isWithinStore)
    compiler.compile()
    destination = compiler.destination ?? entity
    errors = compiler.errors
    relationships = compiler.errors.isEmpty ? compiler.relationships : []
    fields = compiler.fields
    attributes = compiler.attributes
    defaults = compiler.defaults
    referrers = compiler.referrers
  }

  /// The conversion of records with one of the source's layouts, created on first use.
  func layout(_ layout: RecordLayout) -> LayoutBridge {
    if let known = layouts[layout.id] { return known }
    let made = LayoutBridge(self, layout)
    layouts[layout.id] = made
    return made
  }

  /// Copies the attributes that both models store into `buffer`. Links are the source's, or empty.
  func load(_ view: borrowing RecordView, into buffer: inout RecordBuffer) throws(RecordError) {
    let layout = layout(view.layout)
    guard !layout.isSame else { return buffer.load(view, as: destination.layout) }
    try buffer.load(view, as: destination.layout, fields: layout.fields)
    for (field, value) in layout.missing { try buffer.set(field, value) }
  }
}

/// The conversion of records from one layout to the destination's current layout of the entity.
struct LayoutBridge {
  /// Whether the kinds, their order and the names are equal: the bytes are equal except for numbers and ids.
  let isSame: Bool
  /// Attributes by field.
  let fields: [(source: Int, destination: Int)]
  /// Attributes that records of the layout lack, because they are older than these.
  let missing: [(field: Int, value: AttributeValue?)]
  /// Fields of variable length that are not copied.
  private let leftOut: [Int]
  /// The growth of records apart from those: of their fixed part, and by defaults.
  private let addedByteCount: Int

  init(_ bridge: EntityBridge, _ layout: RecordLayout) {
    let (source, destination) = (bridge.source, bridge.destination)
    var fields: [(source: Int, destination: Int)] = []
    var missing: [(field: Int, value: AttributeValue?)] = []
    for attribute in source.attributes {
      guard let preset = attribute.field, let field = bridge.fields[preset] else { continue }
      if let stored = layout.fieldIndex(ofProperty: attribute.code) {
        fields.append((stored, field))
      } else {
        missing.append((field, attribute.fill))
      }
    }
    self.fields = fields.sorted { $0.destination < $1.destination }
    self.missing = missing
    let taken = Set(fields.map(\.source))
    leftOut = layout.variableFields.filter { !taken.contains($0) }
    addedByteCount =
      destination.layout.fixedLength - layout.fixedLength
      + missing.reduce(0) { $0 + ($1.value?.variableByteCount ?? 0) }
      + bridge.defaults.reduce(0) { $0 + $1.value.variableByteCount }
    isSame =
      layout == source.layout && layout.fieldCount == destination.layout.fieldCount
      && (0..<layout.fieldCount).allSatisfy {
        bridge.fields[$0] == $0 && layout.kind($0) == destination.layout.kind($0)
      }
  }

  /// The number of bytes by which a record is longer than its source.
  ///
  /// - Parameter replaced: codes of attributes with values other than the source's.
  func addedByteCount(to view: borrowing RecordView, replaced: Set<UInt16>) -> Int {
    var count = addedByteCount
    for field in leftOut where !replaced.contains(view.layout[field].propertyCode) {
      count -= view.variableBytes(field).byteCount
    }
    return count
  }
}
