package import KVClone

extension JSONWriter {
  /// Returns the text of an object.
  package static func object(_ body: (inout JSONWriter) throws -> Void) rethrows -> String {
    var json = JSONWriter()
    json.beginObject()
    try body(&json)
    json.endObject()
    return json.text
  }

  /// Writes a member that is an array of objects.
  package mutating func list<Element>(
    _ name: String, _ elements: [Element], _ body: (inout JSONWriter, Element) -> Void
  ) {
    key(name)
    beginArray()
    for element in elements {
      beginObject()
      body(&self, element)
      endObject()
    }
    endArray()
  }

  /// Writes a member that is an object, or null.
  package mutating func nullable<Value>(_ name: String, _ value: Value?, _ body: (inout JSONWriter, Value) -> Void) {
    key(name)
    guard let value else { return null() }
    beginObject()
    body(&self, value)
    endObject()
  }

  /// Writes the common members of findings about a store's file: location and message.
  package mutating func finding(_ kind: String, object: String?, property: String?, page: Int?, message: String) {
    member("kind", kind)
    nullable("object", object)
    nullable("property", property)
    nullable("page", page)
    member("message", message)
  }

  /// Writes the members of an object, a value or a link that was skipped.
  package mutating func skipped(_ error: some KVCloneError, isWholeObject: Bool, line: Int? = nil) {
    if let line { member("line", line) }
    member("kind", error.kindName)
    nullable("entity", error.entity)
    nullable("object", error.object)
    nullable("property", error.property)
    member("wholeObject", isWholeObject)
    member("message", error.message)
  }

  /// Writes a member that is always present, null without a text.
  package mutating func nullable(_ name: String, _ value: String?) {
    key(name)
    if let value { string(value) } else { null() }
  }

  /// Writes a member that is always present, null without a number.
  package mutating func nullable(_ name: String, _ value: (some BinaryInteger)?) {
    key(name)
    if let value { integer(value) } else { null() }
  }

  /// Writes the members `errors` and `errorCount` of a plan.
  package mutating func reasons(_ errors: [some KVCloneError], count: Int) {
    list("errors", errors) { json, error in
      json.member("kind", error.kindName)
      json.nullable("object", error.object)
      json.nullable("property", error.property)
      json.member("message", error.message)
    }
    member("errorCount", count)
  }
}
