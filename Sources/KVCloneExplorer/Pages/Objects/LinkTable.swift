import KVClone

/// The relationships of an object, and those that lead to it, as tables.
enum LinkTable {
  static func relationships(_ facts: ObjectFacts, _ links: ObjectLinks, _ context: PageContext) -> HTML {
    if facts.relationships.isEmpty { return "<p class=\"muted\">The entity has no relationships.</p>" }
    return table("Relationships of \(facts.name.id)", "Name", facts.relationships, links, context)
  }

  static func incoming(_ facts: ObjectFacts, _ links: ObjectLinks, _ context: PageContext) -> HTML {
    if facts.incoming.isEmpty {
      return """
        <p class="muted">Every relationship that leads to objects of \(facts.name.entity) has an inverse, which is \
        among the relationships above.</p>
        """
    }
    return table("References to \(facts.name.id)", "Relationship", facts.incoming, links, context)
  }

  private static func table(
    _ caption: String, _ heading: HTML, _ found: [LinkFacts], _ links: ObjectLinks, _ context: PageContext
  ) -> HTML {
    let rows = found.map { link -> [HTML] in
      [
        "\(link.title)", count(link.count), members(link, links, context),
        AttributeText.separated(model(link), by: "<br>"),
      ]
    }
    return Components.table(
      caption, columns: [(heading, false), ("Objects", true), ("Members", false), ("Model", false)], rows: rows)
  }

  /// A number of members, such as `12` or `at least 10 000`.
  static func count(_ count: MemberCount) -> HTML {
    let number = Components.number(count.value)
    return count.isLowerBound ? "at least \(number)" : number
  }

  private static func members(_ link: LinkFacts, _ links: ObjectLinks, _ context: PageContext) -> HTML {
    if link.members.isEmpty { return Components.missing }
    if !link.description.isToMany, !link.isIncoming, let member = link.members.first { return item(member, context) }
    let rest: HTML? = link.next.map { cursor in
      "<p>\(Components.link("More members", links.members(link, from: cursor)))</p>"
    }
    return list(link.members, isOrdered: link.isOrderedList, first: 1, context) + (rest ?? .empty)
  }

  /// Members as a list; ordered ones with their ordinals.
  static func list(_ members: [MemberFacts], isOrdered: Bool, first: Int, _ context: PageContext) -> HTML {
    let items = HTML(members.map { "<li>\(item($0, context))</li>" as HTML })
    return isOrdered ? "<ol class=\"members\" start=\"\(first)\">\(items)</ol>" : "<ul class=\"members\">\(items)</ul>"
  }

  private static func item(_ member: MemberFacts, _ context: PageContext) -> HTML {
    guard let problem = member.problem else { return member.name.link(context) }
    return "\(member.name.id) \(Components.badge("unreadable", "bad")) \(Components.muted(problem))"
  }

  /// The rules of the model for a relationship.
  static func model(_ link: LinkFacts) -> [HTML] {
    let description = link.description
    var rules: [HTML] = []
    let kind = description.isToMany ? description.isOrdered ? "ordered to-many" : "to-many" : "to-one"
    rules.append(
      link.isIncoming
        ? "\(kind) of \(link.declaringEntity), without an inverse" : "\(kind), to \(description.destinationEntityName)")
    if let inverse = description.inverseName { rules.append("inverse \(inverse)") }
    rules.append("delete rule \(description.deleteRule.rawValue)")
    if description.isToMany {
      if description.minCount > 0 { rules.append("at least \(description.minCount)") }
      if description.maxCount > 0 { rules.append("at most \(description.maxCount)") }
    }
    if !description.isOptional { rules.append(Components.badge("required")) }
    return rules
  }
}

extension LinkFacts {
  /// Whether the members have an order of their own.
  var isOrderedList: Bool { !isIncoming && description.isToMany && description.isOrdered }
}
