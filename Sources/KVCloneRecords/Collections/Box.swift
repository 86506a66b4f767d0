/// A heap-allocated value, which keeps its owner small: a borrowed struct is copied as a whole if the compiler treats
/// it as one value, and a transaction is borrowed for every object that is read.
@usableFromInline
package struct Box<Value: ~Copyable>: ~Copyable {
  /// The value's address, valid during the box's life.
  @usableFromInline package let place: UnsafeMutablePointer<Value>

  package init(_ value: consuming Value) {
    place = .allocate(capacity: 1)
    place.initialize(to: value)
  }

  deinit {
    place.deinitialize(count: 1)
    place.deallocate()
  }

  /// Through its address. Coroutines (`_read`) would work, but the optimizer has copied what they yield into their
  /// frame, and read it there after the frame was freed, as the address sanitizer reported.
  package var value: Value {
    @inlinable @inline(__always) unsafeAddress { UnsafePointer(place) }
    @inlinable @inline(__always) nonmutating unsafeMutableAddress { place }
  }

  /// Moves the value out.
  package consuming func take() -> Value {
    let value = place.move()
    place.deallocate()
    discard self
    return value
  }
}
