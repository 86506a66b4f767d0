import KVCloneModel

/// A property of a generated struct.
struct PropertyPlan {
  /// The name in the model.
  let name: String
  /// The name in Swift.
  let identifier: String
  /// The type, with `?` if it is optional.
  let type: String
  /// The type in predicates; nil if predicates cannot use the property.
  let fieldType: String?
  let documentation: [String]
  /// The expression that reads the value from an object.
  let reading: String
  /// The expression that writes the value; nil if only the store sets it.
  let writing: String?
  /// The initial value in a new object; nil if the initializer requires a value.
  let initialValue: String?
  /// The enum of the property, if this entity declares it.
  let enumeration: EnumPlan?
}

extension GeneratorContext {
  /// Returns the properties of an entity's struct, inherited ones first.
  func properties(of entity: EntityDescription) throws(GeneratorError) -> [PropertyPlan] {
    var plans: [PropertyPlan] = []
    for attribute in model.attributes(of: entity.name) {
      let owner = declaringEntity(of: attribute.name, entity.name)
      plans.append(try plan(attribute, in: entity.name, declaredBy: owner))
    }
    for relationship in model.relationships(of: entity.name) where !relationship.isTransient {
      plans.append(plan(relationship, in: entity.name))
    }
    try checkNames(plans, in: entity.name)
    return plans
  }

  /// Returns the properties of a composite's struct.
  func properties(of composite: CompositeAttributeDescription) throws(GeneratorError) -> [PropertyPlan] {
    let plans = try composite.elements.map { (element) throws(GeneratorError) in
      try plan(element, in: composite.name, declaredBy: nil)
    }
    try checkNames(plans, in: composite.name)
    return plans
  }

  private func checkNames(_ plans: [PropertyPlan], in owner: String) throws(GeneratorError) {
    var seen: Set<String> = []
    for plan in plans where !seen.insert(plan.identifier).inserted {
      throw GeneratorError(
        "two properties have the name \(plan.identifier); set \(AnnotationKey.name) for one of them", entity: owner,
        property: plan.name)
    }
    var enumerations: [String: EnumPlan] = [:]
    for plan in plans {
      guard let enumeration = plan.enumeration else { continue }
      if !enumeration.cases.isEmpty, seen.contains(enumeration.name) {
        throw GeneratorError(
          "a property and an enum have the name \(enumeration.name); rename one of them", entity: owner,
          property: plan.name)
      }
      if let other = enumerations.updateValue(enumeration, forKey: enumeration.name), other != enumeration {
        throw GeneratorError(
          "\(enumeration.name) has different cases in two attributes; use equal cases or different names",
          entity: owner,
          property: plan.name)
      }
    }
  }

  /// Returns the topmost entity that has the attribute.
  private func declaringEntity(of attribute: String, _ entity: String) -> String {
    ([entity] + model.superentities(of: entity)).last { name in
      model.entity(named: name)?.attributes.contains { $0.name == attribute } ?? false
    } ?? entity
  }

  private func identifier(_ name: String, _ userInfo: [String: String]) -> String {
    SwiftName.quoted(SwiftName.property(userInfo[AnnotationKey.name] ?? name))
  }

  // MARK: Attributes

  /// - Parameter owner: the entity that declares it; nil for an element of a composite.
  private func plan(_ attribute: AttributeDescription, in entity: String, declaredBy owner: String?)
    throws(GeneratorError) -> PropertyPlan
  {
    let enumeration = try EnumPlan(attribute, in: entity)
    let isInherited = owner.map { $0 != entity } ?? false
    var base = baseType(of: attribute)
    if let enumeration {
      base =
        enumeration.cases.isEmpty || !isInherited
        ? enumeration.name : typeName(of: owner ?? entity) + "." + enumeration.name
    }
    // A transient value is not stored, and a derived value exists only after the store has computed it.
    let isOptional = attribute.isOptional || attribute.isTransient || attribute.isDerived
    let isArchive = attribute.type == .transformable
    let key = SwiftName.literal(attribute.name)
    let identifier = identifier(attribute.name, attribute.userInfo)
    // With the type if it would be ambiguous: `.none` of an optional is nil.
    let value = initialValue(of: attribute, enumeration, isOptional ? base : "")
    if let value, let enumeration, !enumeration.cases.isEmpty, value.isEmpty {
      throw GeneratorError(
        "the default value is not a case of \(enumeration.name); add a case for it", entity: entity,
        property: attribute.name)
    }
    return PropertyPlan(
      name: attribute.name, identifier: identifier, type: base + (isOptional ? "?" : ""),
      fieldType: attribute.isTransient
        ? nil : fieldType(of: attribute, base) + (isOptional ? "?" : ""),
      documentation: documentation(of: attribute),
      reading: "try \(owner == nil ? "elements" : "object").\(isOptional ? "decodeIfPresent" : "decode")(\(key))",
      writing: attribute.isDerived ? nil : "set(\(key), \(isArchive ? "transformable: " : "")\(identifier))",
      initialValue: value ?? (isOptional ? "nil" : nil), enumeration: isInherited ? nil : enumeration)
  }

  private func baseType(of attribute: AttributeDescription) -> String {
    switch attribute.type {
    case .integer16: library("Int16")
    case .integer32: library("Int32")
    case .integer64: library("Int64")
    case .decimal: library("Decimal")
    case .double: library("Double")
    case .float: library("Float")
    case .string: library("String")
    case .boolean: library("Bool")
    case .date: library("Date")
    case .binary, .transformable: library("BinaryValue")
    case .uuid: library("UUID")
    case .uri: library("URL")
    case .composite: attribute.compositeName.map { typeName(ofComposite: $0) } ?? library("AttributeValue")
    case .undefined: library("AttributeValue")
    }
  }

  private func fieldType(of attribute: AttributeDescription, _ base: String) -> String {
    switch attribute.type {
    case .binary, .transformable: library("Data")
    case .composite where attribute.compositeName != nil: base + ".Fields"
    default: base
    }
  }

  /// Returns the initial value of an attribute; an empty text for a default that is not a case of its enum.
  private func initialValue(of attribute: AttributeDescription, _ enumeration: EnumPlan?, _ type: String) -> String? {
    guard let value = attribute.defaultValue, !attribute.isDerived, !attribute.isTransient else { return nil }
    if let enumeration {
      if enumeration.cases.isEmpty { return nil }
      return enumeration.cases.first { $0.value == value }.map { type + "." + $0.identifier } ?? ""
    }
    return ValueSource(context: self).expression(value)
  }

  // MARK: Relationships

  private func plan(_ relationship: RelationshipDescription, in entity: String) -> PropertyPlan {
    let target = typeName(of: relationship.destinationEntityName)
    let identifier = identifier(relationship.name, relationship.userInfo)
    let key = SwiftName.literal(relationship.name)
    let type: String
    let fieldType: String
    let reading: String
    if !relationship.isToMany {
      let mark = relationship.isOptional ? "?" : ""
      type = target + ".ID" + mark
      fieldType = target + ".Fields" + mark
      reading = relationship.isOptional ? "object.reference(\(key))" : "try object.requiredReference(\(key))"
    } else if relationship.isOrdered {
      type = "\(library("OrderedToMany"))<\(target)>"
      fieldType = "[\(target).Fields]"
      reading = "object.orderedMembers(\(key))"
    } else {
      type = "\(library("ToMany"))<\(target)>"
      fieldType = "\(library("Set"))<\(target).Fields>"
      reading = "object.members(\(key))"
    }
    return PropertyPlan(
      name: relationship.name, identifier: identifier, type: type, fieldType: fieldType,
      documentation: documentation(of: relationship, in: entity), reading: reading,
      writing: "set(\(key), \(identifier))",
      initialValue: relationship.isToMany ? "[]" : relationship.isOptional ? "nil" : nil, enumeration: nil)
  }
}
