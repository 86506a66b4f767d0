import KVClone
import KVCloneModel

/// An entity with all details of its properties, inherited ones included.
struct EntityModelPage: Page {
  let model: ManagedObjectModel
  let entity: EntityDescription
  /// The number of objects, without those of subentities.
  let count: EntityCount

  var title: String { "Entity \(entity.name)" }
  var section: PageSection { .model }

  func breadcrumbs(_ context: PageContext) -> [(name: String, link: String)] {
    [("Model", context.link(["model"]))]
      + model.superentities(of: entity.name).reversed().map { ($0, context.link(modelOf: $0)) }
  }

  func html(_ context: PageContext) -> HTML {
    var html = Components.toolbar(
      [Components.buttonLink("Objects", context.link(["entities", entity.name]))])
    html += Components.definitions(facts(context))
    html += Components.section("Attributes", attributes())
    html += Components.section("Relationships", relationships(context))
    let fetched = model.fetchedProperties(of: entity.name)
    if !fetched.isEmpty { html += Components.section("Fetched properties", fetchedProperties(fetched, context)) }
    return html + Components.section("Indexes", indexes())
  }

  private func facts(_ context: PageContext) -> [(name: String, value: HTML)] {
    var facts: [(name: String, value: HTML)] = [
      ("Objects", entity.isAbstract ? Components.badge("abstract") : count.html)
    ]
    if let parent = entity.superentityName {
      facts.append(("Parent", Components.link(parent, context.link(modelOf: parent))))
    }
    let children = model.directSubentities(of: entity.name).sorted()
    if !children.isEmpty {
      facts.append(("Subentities", list(children.map { Components.link($0, context.link(modelOf: $0)) })))
    }
    let unique = model.uniquenessConstraints(of: entity.name)
    if !unique.isEmpty { facts.append(("Unique", list(unique.map { Components.code($0.joined(separator: " + ")) }))) }
    if let name = entity.managedObjectClassName { facts.append(("Class", Components.code(name))) }
    if let name = entity.renamingIdentifier { facts.append(("Renaming identifier", Components.code(name))) }
    if let text = entity.versionHashModifier { facts.append(("Hash modifier", Components.code(text))) }
    if let hash = model.versionHash(of: entity.name) { facts.append(("Version hash", Components.code(hash.hex))) }
    let info = model.userInfo(of: entity.name)
    if !info.isEmpty { facts.append(("userInfo", userInfo(info))) }
    return facts
  }

  private func list(_ items: [HTML]) -> HTML {
    var html: HTML = ""
    for (index, item) in items.enumerated() { html += index == 0 ? item : ", \(item)" }
    return html
  }

  private func userInfo(_ info: [String: String]) -> HTML {
    list(
      info.sorted { $0.key < $1.key }.map { pair in
        Components.code(pair.value.isEmpty ? pair.key : "\(pair.key)=\(Excerpt.beginning(of: pair.value, 80))")
      })
  }

  /// The name of a property, with the place that links to it lead to.
  private func name(_ name: String, isInherited: Bool) -> HTML {
    let badge: HTML? = isInherited ? " \(Components.badge("inherited"))" : nil
    return "<span id=\"\(ModelAnchor.id(name))\">\(name)</span>\(badge)"
  }

  // MARK: Attributes

  private func attributes() -> HTML {
    let all = model.attributes(of: entity.name)
    if all.isEmpty { return Components.empty("The entity has no attributes.") }
    let columns: [(title: HTML, isNumeric: Bool)] = [
      ("Name", false), ("Type", false), ("Optional", false), ("Default", false), ("Validation", false),
      ("Clone", false), ("Notes", false), ("userInfo", false),
    ]
    let rows = all.sorted { $0.name < $1.name }.map { attribute -> [HTML] in
      let treatment = CloneTreatment(of: attribute)
      return [
        name(attribute.name, isInherited: !entity.attributes.contains { $0.name == attribute.name }), type(attribute),
        attribute.isOptional ? "optional" : "required",
        attribute.defaultValue.map { Components.code(Excerpt.beginning(of: ValueText.describe($0), 80)) } ?? .empty,
        validation(attribute),
        treatment.kind == .copy
          ? Components.muted(treatment.reason) : Components.badge(treatment.reason, treatment.badgeKind),
        notes(attribute), userInfo(attribute.userInfo),
      ]
    }
    return Components.table("Attributes", columns: columns, rows: rows)
  }

  private func type(_ attribute: AttributeDescription) -> HTML {
    if attribute.type == .composite {
      let elements = attribute.elements.map { "\($0.name): \($0.type.rawValue)" }.joined(separator: ", ")
      return "\(attribute.compositeName ?? attribute.type.rawValue) {\(elements)}"
    }
    return "\(attribute.type.rawValue)"
  }

  private func validation(_ attribute: AttributeDescription) -> HTML {
    var parts: [String] = []
    let isLength = attribute.type == .string || attribute.type == .uri
    if let least = attribute.minValue { parts.append("\(isLength ? "length " : "")≥ \(ValueText.describe(least))") }
    if let most = attribute.maxValue { parts.append("\(isLength ? "length " : "")≤ \(ValueText.describe(most))") }
    if let pattern = attribute.regularExpression { parts.append("matches \(Excerpt.beginning(of: pattern, 80))") }
    return "\(parts.joined(separator: ", "))"
  }

  private func notes(_ attribute: AttributeDescription) -> HTML {
    var notes: [HTML] = []
    if let expression = attribute.derivationExpression {
      notes.append("\(Components.badge("derived")) \(Components.code(expression))")
    }
    if attribute.isTransient { notes.append(Components.badge("transient")) }
    if let name = attribute.valueTransformerName { notes.append("transformer \(Components.code(name))") }
    if attribute.allowsExternalBinaryDataStorage { notes.append("external storage") }
    if attribute.preservesValueInHistoryOnDeletion { notes.append("kept in history") }
    if let name = attribute.renamingIdentifier { notes.append("renaming identifier \(Components.code(name))") }
    return list(notes)
  }

  // MARK: Relationships

  private func relationships(_ context: PageContext) -> HTML {
    let all = model.relationships(of: entity.name)
    if all.isEmpty { return Components.empty("The entity has no relationships.") }
    let columns: [(title: HTML, isNumeric: Bool)] = [
      ("Name", false), ("Destination", false), ("Cardinality", false), ("Inverse", false), ("Delete rule", false),
      ("Clone", false), ("Notes", false), ("userInfo", false),
    ]
    let rows = all.sorted { $0.name < $1.name }.map { relationship -> [HTML] in
      let treatment = CloneTreatment(of: relationship, in: entity.name, model)
      var notes: [HTML] = []
      if relationship.isOrdered { notes.append(Components.badge("ordered")) }
      if relationship.isTransient { notes.append(Components.badge("transient")) }
      if let name = relationship.renamingIdentifier { notes.append("renaming identifier \(Components.code(name))") }
      let inverse = model.inverse(of: relationship.name, in: entity.name)
      return [
        name(relationship.name, isInherited: !entity.relationships.contains { $0.name == relationship.name }),
        Components.link(
          relationship.destinationEntityName, context.link(modelOf: relationship.destinationEntityName)),
        "\(relationship.cardinality)",
        inverse.map { found in
          let name = found.relationship.name
          let target = context.link(modelOf: found.entityName) + "#" + ModelAnchor.fragment(name)
          return Components.link("\(found.entityName).\(name)", target)
        } ?? Components.muted("none"),
        "\(relationship.deleteRule.rawValue)", Components.badge(treatment.reason, treatment.badgeKind), list(notes),
        userInfo(relationship.userInfo),
      ]
    }
    return Components.table("Relationships", columns: columns, rows: rows)
  }

  private func fetchedProperties(_ properties: [FetchedPropertyDescription], _ context: PageContext) -> HTML {
    let columns: [(title: HTML, isNumeric: Bool)] = [("Name", false), ("Entity", false), ("Predicate", false)]
    let rows = properties.map { property -> [HTML] in
      let target = property.fetchRequest.entityName
      return [
        name(property.name, isInherited: !entity.fetchedProperties.contains { $0.name == property.name }),
        Components.link(target, context.link(modelOf: target)),
        Components.code(property.fetchRequest.predicateString ?? "TRUEPREDICATE"),
      ]
    }
    return Components.table("Fetched properties", columns: columns, rows: rows)
  }

  // MARK: Indexes

  private func indexes() -> HTML {
    let all = model.indexes(of: entity.name)
    if all.isEmpty { return Components.empty("The entity has no fetch indexes.") }
    let columns: [(title: HTML, isNumeric: Bool)] = [
      ("Name", false), ("Elements", false), ("Predicate", false), ("Maintained", false),
    ]
    let stored = Set(
      ([entity.name] + model.superentities(of: entity.name)).compactMap { model.entity(named: $0) }
        .flatMap { model.storedFetchIndexes(declaredIn: $0) }.map(\.name))
    let rows = all.map { index -> [HTML] in
      let elements = index.elements.map {
        ($0.propertyName ?? $0.expression ?? "") + ($0.isAscending ? "" : " descending")
      }
      let isStored = stored.contains(index.name)
      return [
        "\(index.name)", "\(elements.joined(separator: ", "))",
        index.partialPredicate.map { Components.code($0) } ?? .empty,
        isStored ? "yes" : Components.badge("no", "warning"),
      ]
    }
    return Components.table("Indexes", columns: columns, rows: rows)
  }

  // MARK: Other formats

  func write(to json: inout JSONWriter) {
    json.member("entity", entity.name)
    json.nullable("parent", entity.superentityName)
    json.member("abstract", entity.isAbstract)
    count.write(to: &json, as: "objects")
    json.nullable("versionHash", model.versionHash(of: entity.name)?.hex)
    json.member("subentities", model.directSubentities(of: entity.name).sorted())
    json.list("properties", table.rows) { [columns = table.columns] json, row in
      for (column, value) in zip(columns, row).dropFirst() { json.nullable(column, value) }
    }
    json.list("indexes", model.indexes(of: entity.name)) { json, index in
      json.member("name", index.name)
      json.member("elements", index.elements.map { $0.propertyName ?? $0.expression ?? "" })
    }
  }

  var table: PageTable { ModelTable.properties(of: [entity.name], model) }
}
