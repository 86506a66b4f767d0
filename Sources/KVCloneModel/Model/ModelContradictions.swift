/// Finds contradictions within an attribute's description: values with which no object can be saved.
struct ModelContradictions {
  /// The maximum number of slow patterns that are evaluated: some take millions of steps to reject a text; a model with
  /// many of them gets warnings only for the first ones.
  private static let slowLimit = 8
  private var slowCount = 0

  /// Returns warnings about the attributes of an entity or a composite.
  mutating func find(in attributes: [AttributeDescription], of owner: String) -> [ModelWarning] {
    var warnings: [ModelWarning] = []
    for attribute in attributes { find(attribute, attribute.name, owner, &warnings) }
    return warnings
  }

  private mutating func find(
    _ attribute: AttributeDescription, _ path: String, _ owner: String, _ warnings: inout [ModelWarning]
  ) {
    func warn(_ kind: ModelWarning.Kind, _ message: String) {
      warnings.append(ModelWarning(kind, entity: owner, property: path, message: message))
    }
    for element in attribute.elements { find(element, "\(path).\(element.name)", owner, &warnings) }
    var pattern: TextPattern?
    if let text = attribute.regularExpression {
      if attribute.boundType == attribute.type {
        warn(.meaninglessFlag, "has a regular expression, which applies only to texts; it is ignored")
      } else {
        pattern = TextPattern(text)
        if pattern == nil {
          warn(
            .unreadablePattern,
            "has a regular expression that ICU cannot parse; only nil can be saved until it is corrected")
        }
      }
    }
    let bounds = Bounds(attribute)
    if bounds.areImpossible {
      let subject = attribute.boundType == attribute.type ? "minimum" : "minimum length"
      warn(
        .impossibleBounds,
        "has a \(subject) above its maximum; only nil can be saved until one of them is corrected")
    }
    guard let value = attribute.defaultValue, !attribute.isDerived else { return }
    // If no value is within the bounds, there is no further warning.
    if !bounds.areImpossible, let rule = bounds.brokenRule(value) {
      warn(
        .contradictoryDefault,
        "has a default value that is \(rule); objects with this value cannot be saved until one of them is corrected")
    }
    if let pattern, isMismatch(value, pattern) {
      warn(
        .contradictoryDefault,
        "has a default value that its regular expression does not match; objects with this value cannot be saved until "
          + "one of them is corrected")
    }
  }

  private mutating func isMismatch(_ value: AttributeValue, _ pattern: TextPattern) -> Bool {
    guard slowCount < Self.slowLimit, let text = value.text else { return false }
    guard let matches = pattern.matches(text) else {
      slowCount += 1
      return false
    }
    return !matches
  }
}

/// The bounds of an attribute that values are compared with.
private struct Bounds {
  private let isLength: Bool
  private let least: AttributeValue?
  private let greatest: AttributeValue?

  init(_ attribute: AttributeDescription) {
    isLength = attribute.boundType != attribute.type
    // A bound of the wrong type is ignored; another check warns about it.
    least = attribute.minValue.flatMap { attribute.boundType.coerce($0) }
    greatest = attribute.maxValue.flatMap { attribute.boundType.coerce($0) }
  }

  /// Whether no value is within the bounds; the minimum length of a text is 0.
  var areImpossible: Bool {
    if isLength, let greatest, greatest.isLess(than: .integer(0)) { return true }
    guard let least, let greatest else { return false }
    return greatest.isLess(than: least)
  }

  /// Describes how a value violates the bounds; nil if it does not.
  func brokenRule(_ value: AttributeValue) -> String? {
    let measured = isLength ? value.text.map { .integer(Int64($0.utf16.count)) } ?? value : value
    if let least, measured.isLess(than: least) { return isLength ? "shorter than its minimum" : "below its minimum" }
    if let greatest, greatest.isLess(than: measured) {
      return isLength ? "longer than its maximum" : "above its maximum"
    }
    return nil
  }
}

extension AttributeValue {
  fileprivate var text: String? {
    switch self {
    case .string(let text), .uri(let text): text
    default: nil
    }
  }

  /// Whether a value is less than another of its type, as bounds compare; false for NaN, and for types without bounds.
  package func isLess(than other: AttributeValue) -> Bool {
    switch (self, other) {
    case (.integer(let a), .integer(let b)): a < b
    case (.double(let a), .double(let b)): a < b
    case (.float(let a), .float(let b)): a < b
    case (.decimal(let a), .decimal(let b)): !a.isNaN && !b.isNaN && a < b
    case (.date(let a), .date(let b)): a < b
    default: false
    }
  }
}
