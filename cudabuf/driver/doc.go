// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package driver speaks to NVIDIA's driver library, libcuda.so.1, opened at run
// time: the functions that sharing and filling device memory takes, their
// errors by name, and threads to call them on. It knows nothing of rings or
// frames. Nothing of CUDA is needed to build it or to run a program with it;
// without a driver [Open] says so.
//
// Functions, structures and values are those of cuda.h, CUDA 11.0 to 13; the
// tests hold them against NVIDIA's header.
package driver
