extension RecordLayout: ValueCodec {
  /// id u16 | entity u16 | field count u16 | flags u16 (0) | per field: property u16, kind u8, reserved u8 (0).
  package func write(to writer: inout ByteWriter) {
    writer.put16(id)
    writer.put16(entityCode)
    writer.put16(UInt16(fieldCount))
    writer.put16(0)
    for field in fields {
      writer.put16(field.propertyCode)
      writer.put8(field.kind.rawValue)
      writer.put8(0)
    }
  }

  package init(from reader: inout ByteReader) throws(RecordError) {
    let id = try reader.get16()
    let entityCode = try reader.get16()
    let count = Int(try reader.get16())
    guard try reader.get16() == 0 else { throw .badFlag }
    guard count <= FormatLimits.maximumFieldCount else { throw .badCount }
    var fields: [Field] = []
    var codes: Set<UInt16> = []
    for _ in 0..<count {
      let code = try reader.get16()
      guard let kind = FieldKind(rawValue: try reader.get8()), try reader.get8() == 0 else { throw .badFlag }
      let field = Field(propertyCode: code, kind: kind)
      if let last = fields.last, !Self.precedes(last, field) { throw .badOrder }
      guard codes.insert(code).inserted else { throw .badOrder }
      fields.append(field)
    }
    // Only complete bytes are a layout: interning a discarded one would leak its table.
    guard reader.isAtEnd else { throw .trailingBytes }
    self.init(id: id, entityCode: entityCode, fields: fields)
  }
}
