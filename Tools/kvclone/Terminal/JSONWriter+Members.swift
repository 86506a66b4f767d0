import KVClone

extension JSONWriter {
  /// Writes a member that is an array of objects.
  mutating func list<Element>(_ name: String, _ elements: [Element], _ body: (inout JSONWriter, Element) -> Void) {
    key(name)
    beginArray()
    for element in elements {
      beginObject()
      body(&self, element)
      endObject()
    }
    endArray()
  }

  /// Writes the common members of findings about a store's file: location and message.
  mutating func finding(_ kind: String, object: String?, property: String?, page: Int?, message: String) {
    member("kind", kind)
    nullable("object", object)
    nullable("property", property)
    key("page")
    if let page { integer(page) } else { null() }
    member("message", message)
  }

  /// Writes an object, a value or a link that was skipped.
  mutating func skipped(_ error: some KVCloneError, isWholeObject: Bool, line: Int? = nil) {
    beginObject()
    if let line { member("line", line) }
    member("kind", error.kindName)
    nullable("entity", error.entity)
    nullable("object", error.object)
    nullable("property", error.property)
    member("wholeObject", isWholeObject)
    member("message", error.message)
    endObject()
  }

  /// Writes a member that is always present, null without a text.
  mutating func nullable(_ name: String, _ value: String?) {
    key(name)
    if let value { string(value) } else { null() }
  }
}
