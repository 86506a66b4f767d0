import KVClone

/// One value of a comparison as HTML, with links to the state that has it.
struct ComparedValue: Sendable {
  let object: ObjectName
  /// The name of the attribute or relationship.
  let property: String
  /// The title of the state.
  let state: String
  /// The items of the query of pages at the state.
  let items: [(name: String, value: String?)]
  /// Whether the state has the members of lists; false for a list that no state has.
  var hasMembers = true

  /// - Parameters:
  ///   - text: the value, if differences are marked in it.
  ///   - rest: returns the page of the members after one; nil shows all members of the state.
  /// - Returns: nil if the object does not exist in the state.
  func html(
    _ side: ObjectComparison.Side, _ text: HTML? = nil, _ context: PageContext, rest: ((ObjectID) -> String)? = nil
  ) -> HTML? {
    switch side {
    case .absent: nil
    case .value(let value): value.map { Components.code(Excerpt.beginning(of: $0, 2000)) } ?? Components.missing
    case .text(let value): text ?? "<div class=\"text\">\(TextDifference.lines(of: value))</div>"
    case .bytes(let count, let isImage): bytes(count, isImage: isImage, context)
    case .members(let names, let count, let last): members(names, count, last.flatMap { rest?($0) }, context)
    }
  }

  private func bytes(_ count: UInt64, isImage: Bool, _ context: PageContext) -> HTML {
    let target = context.link(["objects"] + object.segments + ["blob", property], items)
    if !isImage { return "<a href=\"\(target)\">\(Components.bytes(count))</a>" }
    let image = Components.image(target, alternative: "\(property) of \(object.text) in \(state)", target: target)
    return "\(image) \(Components.bytes(count))"
  }

  private func members(_ names: [ObjectName], _ count: Int, _ rest: String?, _ context: PageContext) -> HTML {
    if count == 0 { return Components.muted("–") }
    let shown = names.map { name -> HTML in
      let target = context.link(["objects"] + name.segments, items)
      return "<li>\(hasMembers ? Components.link(name.text, target) : "\(name.text)" as HTML)</li>"
    }
    if !hasMembers, count > names.count {
      return "<ul class=\"members\">\(shown)<li>\(count - names.count) more</li></ul>"
    }
    if count <= names.count { return "<ul class=\"members\">\(shown)</ul>" }
    let target = rest ?? context.link(["objects"] + object.segments + ["members", property], items)
    return """
      <ul class="members">\(shown)<li>\(Components.link("\(count - names.count) more", target))</li></ul>
      """
  }
}
