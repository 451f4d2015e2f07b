// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

func helperListen(dir string) error { return nil }
func helperConnect(dir string) error { return nil }
