import KVCloneModel

/// Names in error messages that come from a file.
package enum ErrorText {
  /// A name from the text as errors show it: whole, if a model could have it.
  package static func shown(_ name: String) -> String {
    name.utf8.count <= ModelLimits.nameBytes ? name : "\(String(name.unicodeScalars.prefix(40)))…"
  }
}
