import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The properties that are written of each record of one layout, looked up once.
final class ObjectLinePlan {
  /// A value to write. Copied for every object, and therefore without references.
  struct Step {
    /// The encoded name in ``ObjectLinePlan/names``.
    fileprivate let name: Range<Int>
    /// Nil for composite attributes, and for those that are younger than the layout.
    let field: RecordField?
    /// Whether nil is written: an absent attribute gets its default value when it is loaded.
    let writesNil: Bool
  }

  let layout: RecordLayout
  let entity: CompiledEntity
  /// In the order of their names.
  let attributes: [AttributeDescription]
  let attributeSteps: [Step]
  /// In the order of their names; only those that the layout has.
  let relationships: [CompiledRelationship]
  let relationshipSteps: [Step]
  private let names: [UInt8]

  init(_ layout: RecordLayout, _ entity: CompiledEntity, _ model: ManagedObjectModel) {
    self.layout = layout
    self.entity = entity
    var names: [UInt8] = []
    func step(_ name: String, _ field: RecordField?, writesNil: Bool) -> Step {
      let start = names.count
      var json = JSONWriter()
      json.key(name)
      names += json.bytes
      return Step(name: start..<names.count, field: field, writesNil: writesNil)
    }
    attributes = model.attributes(of: entity.name).filter(\.isStored)
      .sorted { AttributeJSON.utf8Precedes($0.name, $1.name) }
    attributeSteps = attributes.map { attribute in
      let field = entity.storedAttribute(attribute.name).flatMap { RecordField(layout, property: $0.code) }
      return step(attribute.name, field, writesNil: attribute.hasDefault)
    }
    let stored = model.relationships(of: entity.name).filter { !$0.isTransient }
      .sorted { AttributeJSON.utf8Precedes($0.name, $1.name) }
    relationships = stored.compactMap { try? entity.relationship($0.name) }
      .filter { layout.fieldIndex(ofProperty: $0.code) != nil }
    relationshipSteps = relationships.map {
      step($0.name, RecordField(layout, property: $0.code), writesNil: false)
    }
    self.names = names
  }

  /// Writes the name of a member.
  func writeName(_ step: Step, to json: inout JSONWriter) {
    names.withUnsafeBytes { json.key(encoded: UnsafeRawBufferPointer(rebasing: $0[step.name])) }
  }
}

/// The names of objects that exist in a transaction, without reading the objects again: a bit for each.
struct KnownObjectNames {
  /// The objects of one entity.
  private struct Kind {
    let entityCode: UInt16
    let serials: SerialSet
    /// `"Note/` and `"@Note/`.
    let start: [UInt8]
    let outsideStart: [UInt8]

    init(_ entity: CompiledEntity) {
      entityCode = entity.code
      serials = SerialSet()
      func start(_ text: String) -> [UInt8] {
        var json = JSONWriter()
        json.string(text)
        return json.bytes.dropLast()
      }
      self.start = start("\(entity.name)/")
      outsideStart = start("@\(entity.name)/")
    }
  }

  /// By root code.
  private var kinds: [[Kind]] = []

  /// Records that an object exists.
  mutating func insert(_ id: ObjectID, _ entity: CompiledEntity) {
    let root = Int(id.rootCode)
    while kinds.count <= root { kinds.append([]) }
    for kind in kinds[root] where kind.entityCode == entity.code {
      _ = kind.serials.insert(id.serial)
      return
    }
    let kind = Kind(entity)
    _ = kind.serials.insert(id.serial)
    kinds[root].append(kind)
  }

  /// Writes the name of an object; returns false if it is not known to exist.
  ///
  /// - Parameter isOutside: whether the object is not part of the text.
  func write(_ id: ObjectID, isOutside: Bool, to json: inout JSONWriter) -> Bool {
    let root = Int(id.rootCode)
    guard root < kinds.count else { return false }
    for kind in kinds[root] where kind.serials.contains(id.serial) {
      (isOutside ? kind.outsideStart : kind.start).withUnsafeBytes { json.string(encoded: $0, id.serial) }
      return true
    }
    return false
  }
}

extension AttributeDescription {
  /// Whether an absent value would be loaded as anything but nil.
  var hasDefault: Bool {
    !isDerived && (defaultValue != nil || elements.contains { $0.hasDefault })
  }
}
