/// Names from a file in error messages.
package enum ErrorText {
  /// Returns a name as shown in errors: complete if it is valid in a model.
  package static func shown(_ name: String) -> String {
    name.utf8.count <= ModelLimits.nameBytes ? name : "\(String(name.unicodeScalars.prefix(40)))…"
  }
}
