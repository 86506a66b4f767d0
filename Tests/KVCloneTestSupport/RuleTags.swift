package import Testing

/// Tags for the rules of clones in DeepClone.md, for editors that run tests by tag.
extension Tag {
  @Tag package static var r1: Self
  @Tag package static var r2: Self
  @Tag package static var r3: Self
  @Tag package static var r4: Self
  @Tag package static var r5: Self
  @Tag package static var r6: Self
  @Tag package static var r7: Self
  @Tag package static var r8: Self
  @Tag package static var r9: Self
  @Tag package static var r10: Self
  @Tag package static var r11: Self
  @Tag package static var r12: Self
  @Tag package static var r13: Self
  @Tag package static var r14: Self
  @Tag package static var r15: Self
  @Tag package static var r16: Self
  @Tag package static var r17: Self
  @Tag package static var r18: Self
  @Tag package static var r19: Self
  @Tag package static var r20: Self
  @Tag package static var r21: Self
  @Tag package static var r22: Self
  @Tag package static var r23: Self
  @Tag package static var r24: Self
  @Tag package static var r25: Self
  @Tag package static var r26: Self
  @Tag package static var r27: Self
  @Tag package static var r28: Self
  @Tag package static var r29: Self
  @Tag package static var r30: Self
  @Tag package static var r31: Self
  @Tag package static var r32: Self
  @Tag package static var r33: Self
  @Tag package static var r35: Self
  @Tag package static var r36: Self
}
