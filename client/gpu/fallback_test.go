// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package gpu

const helperVariable = "CAMD_GPU_TEST_HELPER"

func helperMain() int { return 0 }
