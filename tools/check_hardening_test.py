#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_hardening.py says of each protection when it is missing: of readelf's words, cut down to what is looked at."""

import unittest

import check_hardening

HARDENED = """
  Machine:                           Advanced Micro Devices X86-64
  GNU_RELRO      0x0 0x0 0x0 0x0 0x0 R 0x1
  GNU_STACK      0x000000 0x0000000000000000 0x0000000000000000 0x000000 0x000000 RW  0x10
 0x000000006ffffffb (FLAGS_1)            Flags: NOW PIE
    10: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND __stack_chk_fail@GLIBC_2.4 (2)
    11: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND _ZSt21__glibcxx_assert_failPKciS0_S0_@GLIBCXX_3.4.30 (3)
    12: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND __fprintf_chk@GLIBC_2.3.4 (4)
    13: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND vsnprintf@GLIBC_2.2.5 (5)
      Properties: x86 feature: SHSTK, x86 ISA needed: x86-64-baseline
"""


class CheckHardening(unittest.TestCase):
    def test_what_is_hardened_passes(self):
        self.assertEqual(check_hardening.missing(HARDENED), [])
        arm = HARDENED.replace("Advanced Micro Devices X86-64", "AArch64").replace("x86 feature: SHSTK, ", "")
        self.assertEqual(check_hardening.missing(arm), [])

    def test_each_protection_is_missed(self):
        for gone, wanted in (("PIE", "-pie"), ("GNU_RELRO", "RELRO"), ("NOW", "-z now"), ("RW ", "not executable"),
                             ("__stack_chk_fail", "stack protector"), ("__glibcxx_assert_fail", "bounds checks"),
                             ("SHSTK", "shadow stack"), ("__fprintf_chk", "_FORTIFY_SOURCE")):
            with self.subTest(gone=gone):
                found = check_hardening.missing(HARDENED.replace(gone, "RWE" if gone == "RW " else "x"))
                self.assertEqual(len(found), 1, found)
                self.assertIn(wanted, found[0])

    def test_one_object_without_fortify_is_enough(self):
        more = HARDENED + "    14: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND fprintf@GLIBC_2.2.5 (5)\n"
        self.assertEqual(check_hardening.missing(more),
                         ["_FORTIFY_SOURCE in all that it is made of: it calls fprintf"])


if __name__ == "__main__":
    unittest.main()
