/* The CUDA driver's library where there is no driver. cuDNN's engines link to it, and are not loaded
   without it; while plans are made, its version is all that they ask. The rest says: no device. */
enum { SUCCESS = 0, NO_DEVICE = 100 };
#define ABSENT(name) int name(void) { return NO_DEVICE; }

int cuDriverGetVersion(int *version) {
    *version = 13000;
    return SUCCESS;
}

ABSENT(cuCtxGetCurrent)
ABSENT(cuCtxGetLimit)
ABSENT(cuCtxPopCurrent)
ABSENT(cuCtxPushCurrent)
ABSENT(cuDNN)
ABSENT(cuDeviceGet)
ABSENT(cuDeviceGetCount)
ABSENT(cuGetErrorName)
ABSENT(cuGetErrorString)
ABSENT(cuInit)
ABSENT(cuKernelGetAttribute)
ABSENT(cuKernelGetFunction)
ABSENT(cuKernelSetAttribute)
ABSENT(cuLaunchCooperativeKernel)
ABSENT(cuLaunchKernel)
ABSENT(cuLaunchKernelEx)
ABSENT(cuLibraryGetKernel)
ABSENT(cuLibraryLoadData)
ABSENT(cuLibraryLoadFromFile)
ABSENT(cuLibraryUnload)
ABSENT(cuLinkAddData)
ABSENT(cuLinkComplete)
ABSENT(cuLinkCreate)
ABSENT(cuLinkDestroy)
ABSENT(cuModuleGetFunction)
ABSENT(cuModuleLoadData)
ABSENT(cuModuleUnload)
ABSENT(cuOccupancyMaxPotentialClusterSize)
ABSENT(cuStreamGetCtx)
ABSENT(cuTensorMapEncodeIm2col)
ABSENT(cuTensorMapEncodeTiled)
