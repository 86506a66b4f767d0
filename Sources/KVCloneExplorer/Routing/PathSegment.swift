/// A name of the store as a segment of a path.
///
/// Browsers resolve the segments `.` and `..`, and the end of a path can be the suffix of a format. So names of these
/// forms have a tilde at their end, and names that end with a tilde have another one.
enum PathSegment {
  static func encode(_ name: String) -> String {
    let isPlain =
      name != "." && name != ".." && !name.hasSuffix("~")
      && PageFormat.suffixed.allSatisfy { !name.hasSuffix($0.suffix) }
    return PercentEncoding.encode(isPlain ? name : name + "~")
  }

  /// Returns nil for an incomplete escape, and for bytes that are not UTF-8.
  static func decode(_ segment: some StringProtocol) -> String? {
    guard var name = PercentEncoding.decode(segment) else { return nil }
    if name.hasSuffix("~") { name.removeLast() }
    return name
  }
}
