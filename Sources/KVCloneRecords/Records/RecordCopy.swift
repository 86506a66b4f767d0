/// An immutable copy of a record in one allocation, which can be shared.
package struct RecordCopy: @unchecked Sendable {
  private struct Header {
    let layout: RecordLayout
    let byteCount: Int
    let variableStart: Int
  }

  private let buffer: ManagedBuffer<Header, UInt8>

  /// Copies a record.
  package init(_ view: borrowing RecordView) {
    let header = Header(layout: view.layout, byteCount: view.byteCount, variableStart: view.variableStart)
    buffer = ManagedBuffer<Header, UInt8>.create(minimumCapacity: header.byteCount) { _ in header }
    let source = view.base
    buffer.withUnsafeMutablePointerToElements { bytes in
      UnsafeMutableRawPointer(bytes).copyMemory(from: source, byteCount: header.byteCount)
    }
  }

  /// The record.
  package var view: RecordView {
    @_lifetime(borrow self)
    get {
      let (header, bytes) = buffer.withUnsafeMutablePointers { (UnsafePointer($0), UnsafeRawPointer($1)) }
      let view = RecordView(
        unchecked: bytes, count: header.pointee.byteCount, layout: header.pointee.layout,
        variableStart: header.pointee.variableStart)
      return _overrideLifetime(view, borrowing: self)
    }
  }
}
