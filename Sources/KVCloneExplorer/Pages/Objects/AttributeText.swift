import Foundation
import KVClone

/// Attributes and their values as text and HTML.
enum AttributeText {
  /// A value, complete and exact: as many digits as identify it, dates in RFC 3339. Bytes are described.
  static func exact(_ value: AttributeValue) -> String { ValueText.cell(value, isPlain: true) }

  /// A value of a page, with its secondary form as a title.
  static func html(_ value: AttributeValue) -> HTML {
    let text = exact(value)
    switch value {
    case .date(let date):
      let seconds = "\(date.timeIntervalSinceReferenceDate) s since 2001-01-01 00:00 UTC"
      return "<time datetime=\"\(text)\" title=\"\(seconds)\">\(text)</time>"
    case .integer, .decimal, .double, .float: return "<data class=\"number\" value=\"\(text)\">\(text)</data>"
    case .uuid: return Components.code(text)
    default: return "\(text)"
    }
  }

  /// The type, with the name of a composite or a transformer.
  static func type(_ attribute: AttributeDescription) -> String {
    if attribute.type == .composite, let name = attribute.compositeName { return "Composite \(name)" }
    if attribute.type == .transformable {
      return "Transformable" + (attribute.valueTransformerName.map { " by \($0)" } ?? "")
    }
    return attribute.type.rawValue
  }

  /// The rules of the model for values: default, bounds and pattern.
  static func rules(_ attribute: AttributeDescription) -> [String] {
    var rules: [String] = []
    if let value = attribute.defaultValue { rules.append("default \(Text.cut(exact(value), 60))") }
    let unit = attribute.boundType == attribute.type ? "" : attribute.minValue == 1 ? " character" : " characters"
    switch (attribute.minValue, attribute.maxValue) {
    case (let low?, let high?): rules.append("\(exact(low)) to \(exact(high))\(unit.isEmpty ? "" : " characters")")
    case (let low?, nil): rules.append("at least \(exact(low))\(unit)")
    case (nil, let high?): rules.append("at most \(exact(high))\(unit.isEmpty ? "" : " characters")")
    case (nil, nil): break
    }
    if let pattern = attribute.regularExpression { rules.append("matches \(Text.cut(pattern, 80))") }
    if let name = attribute.attributeValueClassName { rules.append("class \(name)") }
    return rules
  }

  /// The marks of an attribute: `required`, `derived` with its expression, `transient`.
  static func badges(_ attribute: AttributeDescription) -> HTML {
    var badges: [HTML] = []
    if !attribute.isOptional { badges.append(Components.badge("required")) }
    if let expression = attribute.derivationExpression {
      badges.append("\(Components.badge("derived", "share")) \(Components.code(expression))")
    }
    if attribute.isTransient { badges.append(Components.badge("transient", "skip")) }
    return separated(badges, by: " ")
  }

  /// Pieces with a separator between them.
  static func separated(_ parts: [HTML], by separator: HTML) -> HTML {
    var html = HTML.empty
    for part in parts { html += html.isEmpty ? part : separator + part }
    return html
  }
}
