/// The conversion of records between two layouts: copies the fields of properties that have the same kind in both.
package struct LayoutConversion: Sendable {
  package let source: RecordLayout
  package let destination: RecordLayout
  let fields: [(source: Int, destination: Int, kind: FieldKind)]
  /// The fields of the destination without a value.
  package let missing: [Int]

  package init(from source: RecordLayout, to destination: RecordLayout) {
    self.source = source
    self.destination = destination
    var fields: [(source: Int, destination: Int, kind: FieldKind)] = []
    var missing: [Int] = []
    for field in 0..<destination.fieldCount {
      let kind = destination.kind(field)
      guard let old = source.fieldIndex(ofProperty: destination[field].propertyCode), source.kind(old) == kind else {
        missing.append(field)
        continue
      }
      fields.append((old, field, kind))
    }
    self.fields = fields
    self.missing = missing
  }
}
