public import KVCloneModel

/// The name of one object of a reference graph, as in NDJSON: the concrete entity and a serial.
///
/// In the dump of a store the serial is the store's own. In a handwritten graph it is any number that is unique within
/// a root entity, so that "ascending id" (R3) has one meaning.
public struct Label: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The concrete entity.
  public var entity: String
  /// The number of the object.
  public var serial: Int

  /// Creates the label `entity/serial`.
  public init(_ entity: String, _ serial: Int) {
    self.entity = entity
    self.serial = serial
  }

  /// Parses `Note/12`; returns nil for any other text.
  public init?(_ text: String) {
    guard let slash = text.lastIndex(of: "/"), slash != text.startIndex,
      let serial = Int(text[text.index(after: slash)...]), serial >= 0
    else { return nil }
    self.init(String(text[..<slash]), serial)
  }

  /// `Note/12`.
  public var description: String { "\(entity)/\(serial)" }

  /// Compares by entity name, then by serial: the order of a dump.
  public static func < (left: Label, right: Label) -> Bool {
    (left.entity, left.serial) < (right.entity, right.serial)
  }

  /// Compares by serial, then by entity name: the order of ids among objects of one root entity.
  static func byAge(_ left: Label, _ right: Label) -> Bool {
    (left.serial, left.entity) < (right.serial, right.entity)
  }
}

extension Label: ExpressibleByStringLiteral {
  /// `"Note/12"`.
  ///
  /// - Precondition: the text is a label.
  public init(stringLiteral value: String) {
    guard let label = Label(value) else { preconditionFailure("\(value) is not Entity/serial") }
    self = label
  }
}

/// One object of a reference graph: plain dictionaries.
public struct ReferenceObject: Hashable, Sendable {
  /// The object's label.
  public var label: Label
  /// Stored attributes by name, without those that are nil.
  public var attributes: [String: AttributeValue]
  /// Targets by relationship, none of them empty; a to-one relationship has one target.
  public var relationships: [String: [Label]]

  /// Creates an object.
  public init(
    _ label: Label, _ attributes: [String: AttributeValue] = [:], _ relationships: [String: [Label]] = [:]
  ) {
    self.label = label
    self.attributes = attributes
    self.relationships = relationships.filter { !$0.value.isEmpty }
  }

  /// Returns the targets of `relationship`, or an empty list.
  public func targets(_ relationship: String) -> [Label] { relationships[relationship] ?? [] }
}

/// A whole object graph in dictionaries: simple and slow, the oracle for optimized code.
public struct ReferenceGraph: Hashable, Sendable {
  /// Every object by its label.
  public var objects: [Label: ReferenceObject] = [:]

  /// Creates an empty graph.
  public init() {}

  /// Creates a graph of `objects`; the last of several objects with one label counts.
  public init(_ objects: [ReferenceObject]) {
    for object in objects { self.objects[object.label] = object }
  }

  /// Returns the object with this label, or nil.
  public subscript(label: Label) -> ReferenceObject? { objects[label] }

  /// All labels in the order of a dump.
  public var labels: [Label] { objects.keys.sorted() }

  /// Returns the labels of the objects with the concrete entity `entity`, by serial.
  public func labels(of entity: String) -> [Label] {
    objects.keys.filter { $0.entity == entity }.sorted()
  }

  /// The number of objects by concrete entity.
  public var counts: [String: Int] {
    Dictionary(objects.keys.map { ($0.entity, 1) }, uniquingKeysWith: +)
  }

  /// Adds an object.
  public mutating func add(
    _ label: Label, _ attributes: [String: AttributeValue] = [:], _ relationships: [String: [Label]] = [:]
  ) {
    objects[label] = ReferenceObject(label, attributes, relationships)
  }

  /// Appends `target` to one side of a relationship, unless it is there already.
  public mutating func append(_ target: Label, to relationship: String, of owner: Label) {
    guard objects[owner]?.targets(relationship).contains(target) == false else { return }
    objects[owner]?.relationships[relationship, default: []].append(target)
  }

  /// Removes `target` from one side of a relationship.
  public mutating func remove(_ target: Label, from relationship: String, of owner: Label) {
    objects[owner]?.relationships[relationship]?.removeAll { $0 == target }
    if objects[owner]?.relationships[relationship]?.isEmpty == true {
      objects[owner]?.relationships[relationship] = nil
    }
  }

  /// Links `owner` to `target` on both sides, by the inverse of the model.
  public mutating func link(_ owner: Label, _ relationship: String, _ target: Label, model: ModelView) {
    append(target, to: relationship, of: owner)
    guard let inverse = model.relationship(relationship, of: owner.entity)?.inverse(at: target.entity) else { return }
    append(owner, to: inverse.name, of: target)
  }
}
