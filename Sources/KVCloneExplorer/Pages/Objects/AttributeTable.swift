import KVClone

/// The attributes of an object as a table.
enum AttributeTable {
  /// Longer texts are cut, in Unicode scalars.
  static let textLength = 200
  /// The longest side of the preview of an image, in pixels.
  private static let imageSide = 320
  /// The largest image that a page loads.
  private static let imageByteLimit: UInt64 = 16 << 20

  static func html(_ facts: ObjectFacts, _ links: ObjectLinks) -> HTML {
    if facts.attributes.isEmpty { return "<p class=\"muted\">The entity has no attributes.</p>" }
    let rows = facts.attributes.map { attribute -> [HTML] in
      let description = attribute.description
      let name: HTML =
        attribute.depth == 0
        ? "\(description.name)" : "<span class=\"element\">\(Components.muted("›")) \(description.name)</span>"
      let rules = AttributeText.rules(description).map { "\($0)" as HTML }
      let badges = AttributeText.badges(description)
      let model = AttributeText.separated((badges.isEmpty ? [] : [badges]) + rules, by: "<br>")
      return [name, value(attribute, facts, links), "\(AttributeText.type(description))", model]
    }
    return Components.table(
      "Attributes of \(facts.name.id)",
      columns: [("Name", false), ("Value", false), ("Type", false), ("Model", false)], rows: rows)
  }

  private static func value(_ attribute: AttributeFacts, _ facts: ObjectFacts, _ links: ObjectLinks) -> HTML {
    switch attribute.content {
    case .null: Components.missing
    case .composite: Components.muted("\(attribute.description.elements.count) elements")
    case .transient: Components.muted("in memory only")
    case .value(let value): AttributeText.html(value)
    case .text(let text): self.text(text, attribute.path, links)
    case .bytes(let bytes): self.bytes(bytes, attribute.path, facts, links)
    case .unreadable(let problem): "\(Components.badge("unreadable", "bad")) \(Components.muted(problem))"
    }
  }

  private static func text(_ text: TextFacts, _ path: String, _ links: ObjectLinks) -> HTML {
    let shown = Excerpt.beginning(of: text.beginning, textLength)
    if text.isWhole, shown.utf8.count == text.beginning.utf8.count {
      return shown.isEmpty ? Components.muted("empty text") : "\(shown)"
    }
    let target = links.text(path)
    return "\(shown) <a href=\"\(target)\">Full text</a> \(Components.bytes(text.byteCount))"
  }

  private static func bytes(
    _ bytes: BytesFacts, _ path: String, _ facts: ObjectFacts, _ links: ObjectLinks
  ) -> HTML {
    let size = Components.bytes(bytes.source.byteCount)
    var actions: [HTML] = []
    if case .text = bytes.type { actions.append(Components.link("Text", links.text(path))) }
    if bytes.type == .svg { actions.append(Components.link("Source", links.text(path))) }
    actions.append(Components.link("Bytes", links.bytes(path)))
    actions.append(Components.link("Download", links.blob(path, isDownload: true)))
    if bytes.source.byteCount == 0 { return "\(size) \(Components.muted("empty"))" }
    let about: HTML =
      "<p>\(bytes.type.title), \(size)\(dimensions(bytes)) · \(AttributeText.separated(actions, by: " · "))</p>"
    return preview(bytes, path, facts, links) + about
  }

  private static func dimensions(_ bytes: BytesFacts) -> HTML? {
    bytes.imageSize.map { ", \($0.width) × \($0.height) pixels" }
  }

  private static func preview(
    _ bytes: BytesFacts, _ path: String, _ facts: ObjectFacts, _ links: ObjectLinks
  ) -> HTML {
    let source = links.blob(path)
    let name = "\(path) of \(facts.name.title)"
    switch bytes.type {
    case .image where bytes.source.byteCount <= imageByteLimit && bytes.imageSize?.isModest != false:
      guard let size = bytes.imageSize?.fitted(into: imageSide) else {
        return Components.image(source, alternative: name, target: source)
      }
      // With its size, the page keeps its layout when the image arrives.
      return """
        <a class="picture" href="\(source)"><img src="\(source)" alt="\(name)" width="\(size.width)" \
        height="\(size.height)" loading="lazy" decoding="async"></a>
        """
    case .image: return "<p>\(Components.link("Show the image", source))</p>"
    case .svg where bytes.source.byteCount <= imageByteLimit:
      return Components.image(source, alternative: name, isLarge: true)
    case .text:
      let text = String(decoding: UTF8Part.whole(bytes.sample), as: UTF8.self)
      return "<p>\(Excerpt.beginning(of: text, textLength))\(bytes.isWhole ? "" : "…")</p>"
    default: return Components.hex("First bytes of \(path)", bytes.sample.prefix(256))
    }
  }
}
