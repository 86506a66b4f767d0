/// The names of attribute types in CAST: class names, or names of the model editor.
enum QueryTypeNames {
  static func type(named name: String) -> AttributeType? {
    if let found = classes.first(where: { $0.name == name || $0.name == "NS" + name }) { return found.type }
    return AttributeType(rawValue: name)
  }

  static func name(of type: AttributeType) -> String {
    classes.first { $0.type == type }?.name ?? type.rawValue
  }

  private static let classes: [(name: String, type: AttributeType)] = [
    ("NSDate", .date), ("NSNumber", .double), ("NSString", .string), ("NSDecimalNumber", .decimal), ("NSUUID", .uuid),
    ("NSURL", .uri), ("NSData", .binary),
  ]
}
