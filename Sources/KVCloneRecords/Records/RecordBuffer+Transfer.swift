extension RecordBuffer {
  /// Copies a record of a layout with the same kinds of fields in the same order, under another layout's numbers: the
  /// first step of importing an object from another store. Ids in it are still the other store's.
  ///
  /// - Precondition: the two layouts have the same kinds in the same order.
  package mutating func load(_ view: borrowing RecordView, as layout: RecordLayout) {
    assert(view.layout.fields.map(\.kind) == layout.fields.map(\.kind), "the layouts differ in more than numbers")
    load(view)
    base.set(layout.id, at: RecordHeader.layout)
    base.set(layout.entityCode, at: RecordHeader.entity)
    take(layout, length: length, variableStart: variableStart)
  }

  /// Replaces the content by a record of `layout` with the values of some attributes of `view`; all other fields are
  /// nil or empty.
  ///
  /// - Parameter fields: fields of the view's layout, and the fields of `layout` that get their values.
  /// - Throws: `wrongKind` for two fields of different kinds; `recordTooLarge`.
  package mutating func load(
    _ view: borrowing RecordView, as layout: RecordLayout, fields: [(source: Int, destination: Int)]
  ) throws(RecordError) {
    reset(layout)
    for (source, destination) in fields {
      let kind = layout.kind(destination)
      guard view.layout.kind(source) == kind else { throw .wrongKind }
      try copy(source, of: view, to: destination, kind)
    }
  }
}
