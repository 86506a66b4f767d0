import KVCloneModel
import KVCloneRecords
import Testing

/// The sanity buffer of xxHash's own tests.
private let sanityBuffer: [UInt8] = {
  var generator: UInt64 = 2_654_435_761
  return (0..<1_048_552).map { _ in
    defer { generator &*= 11_400_714_785_074_694_797 }
    return UInt8(truncatingIfNeeded: generator &>> 56)
  }
}()

private let largeSeed: UInt64 = 11_400_714_785_074_694_797

/// Length, and the hashes with the seeds 0, 1 and the large one, from the reference implementation (libxxhash).
private let vectors: [(Int, UInt64, UInt64, UInt64)] = [
  (0, 0x2D06_8005_38D3_94C2, 0x4DC5_B0CC_826F_6703, 0xA8A6_B918_B2F0_364A),
  (1, 0xC44B_DFF4_074E_ECDB, 0x5EAA_C1F7_B17E_F730, 0x032B_E332_DD76_6EF8),
  (2, 0x7A99_7804_4CB8_A8BB, 0x5007_67F3_4AE5_E9FF, 0x764B_35C9_0519_AD88),
  (3, 0x5424_7382_A8D6_B94D, 0x03D2_2A2B_EE35_1F17, 0x634B_8990_B497_6373),
  (4, 0xE5DC_74BC_5184_8A51, 0x3CEC_9152_01DC_0A95, 0xAA2E_7ECC_B0C8_F747),
  (5, 0xE424_3F00_7203_06BB, 0x3276_F2AC_4CBD_CF76, 0x5A67_C87E_50ED_80ED),
  (7, 0x9941_E000_7F55_5E50, 0xD28B_E0AF_E100_4FF3, 0x75BD_AB43_463F_0151),
  (8, 0x24CC_C9AC_AA9F_65E4, 0x6EDD_0A44_6C33_29ED, 0x8F97_3410_999B_8F6B),
  (9, 0x14D5_001C_15DD_3F2B, 0x1E61_BAC9_667D_1D90, 0xB3AE_7333_D901_3F60),
  (12, 0xA713_DAF0_DFBB_77E7, 0x1161_9ECB_04C5_D104, 0xE730_3E1B_2336_DE0E),
  (16, 0x981B_17D3_6C74_98C9, 0x196D_F222_4086_7BF5, 0x663F_2933_3B4D_B6B1),
  (17, 0x796F_5ACD_3A60_F862, 0x8361_17EF_9298_39E9, 0xF3EC_5067_F430_6DB3),
  (32, 0x9FEA_DDBD_BF57_EED3, 0xB090_EB2E_83ED_72CA, 0x2199_FAB1_5348_93D9),
  (33, 0xABFB_2D08_1B40_0A10, 0xDA99_AAAD_4DBB_FFAF, 0xAD56_348D_A574_BB6D),
  (64, 0x9CB4_8487_720E_C49D, 0xB4D6_E30D_CB9C_271E, 0x4FE8_895D_B9B8_C077),
  (65, 0xFD81_AAC4_BEBC_3883, 0xAB78_B5B1_0794_2D17, 0xAD80_AEEC_1FC9_E0A7),
  (96, 0x935A_769A_7F94_776F, 0x91E6_057D_0F14_A82D, 0x70CF_5193_7E50_0540),
  (97, 0xCA4C_A268_FD3C_3A6C, 0x02D8_8007_1022_FA75, 0xEE46_1D3A_DD7E_E6C9),
  (128, 0xFCFF_2412_6754_D861, 0x1F92_C8F1_A121_BD98, 0x73FD_E752_8064_6649),
  (129, 0x98F1_B0A6_79A2_CA29, 0x19FE_728F_FCF4_AB6C, 0x21FF_FDBC_A099_C844),
  (143, 0x7A78_1369_3F1F_4EDB, 0x17EA_89A0_6075_6B15, 0x43B3_274A_E68D_5742),
  (144, 0xC440_D47E_5F03_FE58, 0x3C09_9C34_C3AD_C635, 0x858D_16B7_1F4D_D859),
  (160, 0x9D03_A319_ED4C_BD2B, 0x7E61_1E1B_BD29_A66C, 0x3825_C75F_FE70_FDE0),
  (176, 0x6A79_C998_0453_8253, 0x4C45_5AD3_7285_1671, 0x25B3_7500_65BA_47EF),
  (192, 0xAF9F_58E7_8B8D_3587, 0x6BDB_9D11_486D_21E5, 0x69E0_06AA_2156_C999),
  (208, 0x2CF1_E5EB_7433_AA4D, 0x68D3_8E03_D0C4_07AD, 0xA351_C837_6638_C444),
  (224, 0x3F32_50C7_E92C_871A, 0x75E5_045E_8156_0F91, 0x1702_3A9A_6F11_56DB),
  (239, 0x16CE_2B9D_3B28_805D, 0x9A5E_63D7_E2D2_7175, 0xF59F_5C23_FCEB_D3B7),
  (240, 0x81C3_C2B6_7F56_8CCF, 0xEC8F_A23C_85C4_44D5, 0xCC0F_58C2_7EF3_D8EE),
  (241, 0xC5A6_39EC_D203_0E5E, 0x10DA_3DDD_7528_E20F, 0xDDA9_B0A1_61D4_829A),
  (256, 0x55DE_574A_D89D_0AC5, 0xBCDB_0DF1_2577_AEC0, 0x4D30_234B_7A3A_A61C),
  (257, 0xB17F_D5A8_AE75_BB0B, 0xB481_8F35_C315_E84D, 0x802A_6FBF_3CAC_D97C),
  (320, 0x7562_0D35_0FF5_C694, 0xD01E_09E8_AAED_65B4, 0x1917_1DE4_0C92_8F07),
  (403, 0xCDEB_804D_65C6_DEA4, 0x4055_B4FE_E3C8_ED0B, 0x6259_F6EC_FD64_43FD),
  (512, 0x617E_4959_9013_CB6B, 0x0982_48A9_6C7C_AC74, 0x3CE4_57DE_14C2_7708),
  (513, 0xF703_7D3B_6722_AEEC, 0x4429_D9A4_3630_4F7B, 0x7849_4A42_FDE4_9F35),
  (576, 0x9C87_5962_CB39_ACF8, 0xFF56_1D11_843E_69CE, 0x6E01_EE56_62C3_1F8F),
  (600, 0xC060_5FE1_91A5_E128, 0x62CF_75C5_1D25_7975, 0x061A_2384_5807_828D),
  (1023, 0x87A8_F7B2_F2E2_2496, 0x5EBE_9B5E_5720_8EC0, 0x0F0F_02DE_8590_E1B5),
  (1024, 0xDD85_C9B5_C110_9C5C, 0x60F7_8B42_AF24_0C05, 0xEF36_8A8A_2EBA_BAEF),
  (1025, 0xD870_C0FA_1321_1C6A, 0xFE1C_DB27_EA8C_2E20, 0x9679_2BCF_9AF8_8519),
  (1088, 0xCC14_50EA_6B52_A8F4, 0x8A05_29F4_09A2_2A54, 0x5426_32D0_46F3_DDE4),
  (2048, 0xDD59_E2C3_A5F0_38E0, 0xA135_D432_877A_465F, 0x66F8_1670_669A_BABC),
  (2049, 0xD3AF_A432_9779_B921, 0xFA63_3089_15A9_A343, 0xE480_8383_6CD5_8024),
  (2240, 0x6E73_A905_39CF_2948, 0x4FF7_F8AD_8BFF_BE24, 0x757B_A848_7D1B_5247),
  (4096, 0xE912_0642_9D1F_48F9, 0x1293_10A8_3B67_A346, 0x2A3B_BB20_A543_9DCD),
  (65_536, 0x918F_7F0F_912C_A480, 0x7AFD_2138_354C_E817, 0xBCB1_719D_E7BE_E55B),
  (1_048_552, 0x0CAC_22A3_EA44_8EA4, 0xE8AA_5F8F_A17D_0C1B, 0x83D2_D228_55E3_9A63),
]

@Suite struct XXH3Tests {
  @Test func vectorsOfTheReference() {
    for (length, plain, seededByOne, seeded) in vectors {
      let bytes = Array(sanityBuffer.prefix(length))
      #expect(XXH3.hash(bytes.span.bytes, seed: 0) == plain, "length \(length)")
      #expect(XXH3.hash(bytes.span.bytes, seed: 1) == seededByOne, "length \(length)")
      #expect(bytes.withUnsafeBytes { XXH3.hash($0, seed: largeSeed) } == seeded, "length \(length)")
    }
  }

  /// The hashes of all lengths, combined into one number each by the reference implementation.
  @Test func everyLengthUpTo600() {
    let expected: [(UInt64, UInt64)] = [
      (0, 0x4278_E234_A9BA_3C81), (1, 0xA537_DD00_97C2_F5C4), (largeSeed, 0x89C8_5714_F08F_1808),
      (.max, 0x5967_EA73_B7AE_0E6D),
    ]
    for (seed, expected) in expected {
      let sum = (0...600).reduce(0 as UInt64) { sum, length in
        sum &* 31 &+ sanityBuffer.withUnsafeBytes { XXH3.hash(.init(rebasing: $0.prefix(length)), seed: seed) }
      }
      #expect(sum == expected, "seed \(seed)")
    }
  }

  @Test func whereTheBytesLieMakesNoDifference() {
    for length in [3, 8, 16, 100, 150, 240, 241, 1025, 3000] {
      let hash = XXH3.hash(Array(sanityBuffer.prefix(length)).span.bytes, seed: 7)
      for offset in 1...17 {
        let moved = Array(repeating: 0xFF, count: offset) + sanityBuffer.prefix(length) + [0xFF]
        let again = XXH3.hash(moved.span.bytes.extracting(offset..<offset + length), seed: 7)
        #expect(again == hash, "length \(length), offset \(offset)")
      }
    }
  }

  @Test func eightBytesAndNothingNeedNoMemory() {
    var generator = SeededGenerator(2)
    for _ in 0..<100 {
      let (word, seed) = (generator.next(), generator.next())
      let hash = withUnsafeBytes(of: word.littleEndian) { XXH3.hash($0, seed: seed) }
      #expect(XXH3.hash(littleEndianWord: word, seed: seed) == hash, "seed 2")
      #expect(XXH3.empty(seed: seed) == XXH3.hash([UInt8]().span.bytes, seed: seed), "seed 2")
    }
  }

  @Test func seedOfAnObjectIsThatOfItsKey() {
    let id = ObjectID(rawValue: 1 << 48 | 42)
    let table = TableCode.objects(rootCode: 1)
    #expect(ValueEnvelope.seed(object: id) == 0x1058_BC75_9DF0_3950)
    #expect(ValueEnvelope.seed(tableCode: table, objectID: id) == 0x1058_BC75_9DF0_3950)
    #expect(ValueEnvelope.seed(tableCode: table, key: ShortKey.object(id)) == 0x1058_BC75_9DF0_3950)
    #expect(ValueEnvelope.seed(tableCode: table, key: ShortKey.object(id).array) == 0x1058_BC75_9DF0_3950)
    #expect(ValueEnvelope.seed(tableCode: .metadata, key: MetadataKey.bytes("commit")) == 0xD726_3889_66BC_0387)
  }

  @Test func envelopeVouchesForPayloadKeyAndTable() throws {
    let seed = ValueEnvelope.seed(tableCode: .metadata, key: MetadataKey.bytes("commit"))
    let value = CounterValue(258).encoded(seed: seed)
    #expect(hex(value) == "b22b1de1a64970660201000000000000")
    let other = ValueEnvelope.seed(tableCode: .links, key: MetadataKey.bytes("commit"))
    #expect(throws: RecordError.checksumMismatch) { try CounterValue(stored: value, seed: other) }
    #expect(throws: RecordError.tooShort) { try CounterValue(stored: Array(value.prefix(7)), seed: seed) }
    #expect(ValueEnvelope.encode([UInt8](), seed: Golden.seed) == unhex(Golden.empty))
    #expect(
      withUnsafeBytes(of: ValueEnvelope.emptyValue(seed: Golden.seed)) { Array($0) } == unhex(Golden.empty))
  }
}
