import KVCloneModel

extension ModelReader {
  mutating func fetchRequest(_ node: XMLNode) throws(ModelFileError) -> FetchRequestTemplate {
    var element = ElementReader(node, file: file)
    // Unlike elsewhere, an absent flag has the default of a request created in code: Xcode's compiler does not change
    // it. Requests for ids read no property values, and dictionaries show what is stored.
    let resultType = element.count("resultType", or: 0, &context)
    let request = FetchRequestTemplate(
      try element.required("name"), entity: try element.required("entity"),
      predicate: element.nonEmptyText("predicateString"), limit: element.count("fetchLimit", or: 0, &context),
      batchSize: element.count("fetchBatchSize", or: 0, &context), resultType: resultType,
      includesSubentities: element.flag("includeSubentities", or: true, &context),
      includesPropertyValues: element.flag("includePropertyValues", or: resultType != 1, &context),
      includesPendingChanges: element.flag("includesPendingChanges", or: resultType != 2, &context),
      returnsObjectsAsFaults: element.flag("returnObjectsAsFaults", or: true, &context),
      returnsDistinctResults: element.flag("returnDistinctResults", &context))
    for child in node.children { element.warnUnknown(child: child, &context) }
    element.finish(&context)
    return request
  }

  mutating func fetchedProperty(_ node: XMLNode) throws(ModelFileError) -> FetchedPropertyDescription {
    var element = ElementReader(node, file: file)
    let name = try element.required("name")
    context.property = name
    defer { context.property = nil }
    var request: FetchRequestTemplate?
    var info: [String: String] = [:]
    for child in node.children {
      switch child.name {
      case "fetchRequest": request = try fetchRequest(child)
      case "userInfo": userInfo(child, &info)
      default: element.warnUnknown(child: child, &context)
      }
    }
    guard let request else {
      throw .missingAttribute(path: file, line: node.line, element: "fetchedProperty", attribute: "fetchRequest")
    }
    var property = FetchedPropertyDescription(name, request, userInfo: info)
    property.isOptional = element.flag("optional", &context)
    property.renamingIdentifier = element.nonEmptyText("elementID")
    property.versionHashModifier = element.nonEmptyText("versionHashModifier")
    element.ignore("syncable", "transient", "spotlightIndexingEnabled", "storedInTruthFile")
    element.finish(&context)
    return property
  }

  mutating func constraints(_ node: XMLNode) throws(ModelFileError) -> [[String]] {
    try groups(node, of: "uniquenessConstraint", items: "constraint").filter { !$0.isEmpty }
  }

  mutating func compoundIndexes(_ node: XMLNode) throws(ModelFileError) -> [FetchIndexDescription] {
    try groups(node, of: "compoundIndex", items: "index").filter { !$0.isEmpty }.map { names in
      FetchIndexDescription(
        "compound:" + names.joined(separator: ","), names.map { .init($0) }, origin: .compoundIndex)
    }
  }

  /// Parses lists of lists: `<groups><group><item value="a"/><item value="b"/></group></groups>`.
  private mutating func groups(
    _ node: XMLNode, of group: String, items: String
  ) throws(ModelFileError) -> [[String]] {
    let outer = ElementReader(node, file: file)
    var result: [[String]] = []
    for child in node.children {
      guard child.name == group else {
        outer.warnUnknown(child: child, &context)
        continue
      }
      let inner = ElementReader(child, file: file)
      var values: [String] = []
      for item in child.children {
        guard item.name == items else {
          inner.warnUnknown(child: item, &context)
          continue
        }
        var element = ElementReader(item, file: file)
        values.append(try element.required("value"))
        element.finish(&context)
      }
      inner.finish(&context)
      result.append(values)
    }
    outer.finish(&context)
    return result
  }

  mutating func fetchIndex(_ node: XMLNode) throws(ModelFileError) -> FetchIndexDescription {
    var element = ElementReader(node, file: file)
    var index = FetchIndexDescription(try element.required("name"), [])
    for name in ["partialIndexPredicate", "partialIndexPredicateString", "predicateString"] {
      index.partialPredicate = index.partialPredicate ?? element.nonEmptyText(name)
    }
    for child in node.children {
      guard child.name == "fetchIndexElement" else {
        element.warnUnknown(child: child, &context)
        continue
      }
      var part = ElementReader(child, file: file)
      // The type is Binary, RTree, or that of the attribute, which is equivalent to Binary.
      let kind: FetchIndexDescription.Element.Kind =
        part.text("type").map { $0.lowercased() == "rtree" } ?? false ? .rTree : .binary
      let isAscending = part.text("order")?.lowercased() != "descending"
      part.ignore("expressionType")
      if let property = part.nonEmptyText("property") {
        index.elements.append(.init(property, ascending: isAscending, kind: kind))
      } else if let expression = part.nonEmptyText("expression") {
        index.elements.append(.init(expression: expression, ascending: isAscending, kind: kind))
      } else {
        context.warn(.unusableReference, "an element of index \(index.name) does not name a property, and is ignored")
      }
      part.finish(&context)
    }
    element.finish(&context)
    return index
  }
}
