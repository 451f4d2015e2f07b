// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

// Values of cuda.h. Each names its C constant; a test compares them.
const (
	eventBlockingSync  = 0x1 // CU_EVENT_BLOCKING_SYNC
	eventDisableTiming = 0x2 // CU_EVENT_DISABLE_TIMING

	eventWaitDefault = 0x0 // CU_EVENT_WAIT_DEFAULT

	streamNonBlocking = 0x1 // CU_STREAM_NON_BLOCKING

	contextSchedAuto = 0x0 // CU_CTX_SCHED_AUTO

	hostAllocPortable = 0x1 // CU_MEMHOSTALLOC_PORTABLE

	hostRegisterPortable = 0x1 // CU_MEMHOSTREGISTER_PORTABLE
	hostRegisterReadOnly = 0x8 // CU_MEMHOSTREGISTER_READ_ONLY

	memoryHost   = 1 // CU_MEMORYTYPE_HOST
	memoryDevice = 2 // CU_MEMORYTYPE_DEVICE

	handlePosixFD = 1 // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

	allocationPinned = 1 // CU_MEM_ALLOCATION_TYPE_PINNED

	locationDevice = 1 // CU_MEM_LOCATION_TYPE_DEVICE

	accessRead      = 1 // CU_MEM_ACCESS_FLAGS_PROT_READ
	accessReadWrite = 3 // CU_MEM_ACCESS_FLAGS_PROT_READWRITE

	granularityMinimum = 0 // CU_MEM_ALLOC_GRANULARITY_MINIMUM

	attributeMultiProcessors      = 16  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
	attributeIntegrated           = 18  // CU_DEVICE_ATTRIBUTE_INTEGRATED
	attributeComputeMode          = 20  // CU_DEVICE_ATTRIBUTE_COMPUTE_MODE
	attributeAsyncEngines         = 40  // CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT
	attributeMajor                = 75  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
	attributeMinor                = 76  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
	attributeHostRegister         = 99  // CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED
	attributeVMM                  = 102 // CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
	attributePosixFD              = 103 // CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
	attributeReadOnlyHostRegister = 113 // CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED

	pointerMemoryType    = 2  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
	pointerBufferID      = 7  // CU_POINTER_ATTRIBUTE_BUFFER_ID
	pointerDeviceOrdinal = 9  // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
	pointerHandleTypes   = 14 // CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES
)

// What Device.ComputeMode says of who may use the GPU.
const (
	ComputeDefault          = 0 // CU_COMPUTEMODE_DEFAULT
	ComputeProhibited       = 2 // CU_COMPUTEMODE_PROHIBITED
	ComputeExclusiveProcess = 3 // CU_COMPUTEMODE_EXCLUSIVE_PROCESS
)
