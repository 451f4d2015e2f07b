// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

#include "header.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <utility>

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

namespace {

// Lender owns the memory of no header: when the last one lets go, there is
// nothing to do. New memory is made by OpenCV's own allocator.
class Lender final : public cv::MatAllocator {
public:
	cv::UMatData *allocate(int dims, const int *sizes, int type, void *data, size_t *step, cv::AccessFlag flags,
			       cv::UMatUsageFlags usage) const override {
		return cv::Mat::getDefaultAllocator()->allocate(dims, sizes, type, data, step, flags, usage);
	}
	bool allocate(cv::UMatData *data, cv::AccessFlag flags, cv::UMatUsageFlags usage) const override {
		return cv::Mat::getDefaultAllocator()->allocate(data, flags, usage);
	}
	void deallocate(cv::UMatData *) const override {}
};

const Lender &lender() {
	static const Lender *one = new Lender; // headers may outlive the end of main
	return *one;
}

cv::Mat *mat(void *header) { return static_cast<cv::Mat *>(header); }
const cv::Mat *mat(const void *header) { return static_cast<const cv::Mat *>(header); }

} // namespace

struct cvmat_loan {
	cv::UMatData u;
	cvmat_loan() : u(&lender()) {}
};

cvmat_loan *cvmat_lend(void *header, int rows, int cols, int type, void *data, size_t step) try {
	cv::Mat view(rows, cols, type, data, step);
	auto *loan = new cvmat_loan;
	loan->u.data = loan->u.origdata = static_cast<uchar *>(data);
	loan->u.size = static_cast<size_t>(view.datalimit - view.datastart);
	loan->u.refcount = 1;
	view.u = &loan->u;
	*mat(header) = std::move(view);
	return loan;
} catch (...) {
	return nullptr;
}

int cvmat_headers(const cvmat_loan *loan) {
	return __atomic_load_n(&loan->u.refcount, __ATOMIC_ACQUIRE) + __atomic_load_n(&loan->u.urefcount, __ATOMIC_ACQUIRE);
}

int cvmat_end(cvmat_loan *loan, void *header) {
	int n = cvmat_headers(loan);
	if (n == 0)
		return CVMAT_TAKEN; // header may be freed: it is not looked at
	if (n > 1)
		return n - 1;
	// The one that is left may be another one, if header was closed by somebody
	// else. Then its memory is read after it was freed, and not written.
	if (mat(header)->u != &loan->u)
		return 1;
	*mat(header) = cv::Mat();
	return 0;
}

void cvmat_free(cvmat_loan *loan) { delete loan; }

void cvmat_drop(void *header) { delete mat(header); }

int cvmat_create(void *header, int rows, int cols, int type, void **data, size_t *step) try {
	mat(header)->create(rows, cols, type);
	*data = mat(header)->data;
	*step = mat(header)->step[0];
	return 0;
} catch (...) {
	return CVMAT_FAILED;
}

void *cvmat_data(const void *header) { return mat(header)->data; }

namespace {

// palette is Turbo, from red (near) to blue (far).
cv::Mat palette() {
	cv::Mat ramp(1, 256, CV_8UC1), out;
	for (int i = 0; i < 256; i++)
		ramp.at<uchar>(0, i) = static_cast<uchar>(255 - i);
	cv::applyColorMap(ramp, out, cv::COLORMAP_TURBO);
	return out;
}

// color gives each sample that is positive and finite its colour.
template <typename T> void color(const cv::Mat &src, cv::Mat &dst, double near, double far) {
	static const cv::Mat colors = palette();
	const cv::Vec3b *table = colors.ptr<cv::Vec3b>();
	const float scale = static_cast<float>(255 / (far - near)), first = static_cast<float>(near);
	for (int y = 0; y < src.rows; y++) {
		const T *s = src.ptr<T>(y);
		cv::Vec3b *d = dst.ptr<cv::Vec3b>(y);
		for (int x = 0; x < src.cols; x++) {
			float v = static_cast<float>(s[x]);
			if (!(v > 0) || std::isinf(v)) {
				d[x] = cv::Vec3b();
				continue;
			}
			float i = (v - first) * scale + 0.5f;
			d[x] = table[i <= 0 ? 0 : i >= 255 ? 255 : static_cast<int>(i)];
		}
	}
}

} // namespace

int cvmat_color_depth(const void *depth, void *dst, double near_m, double far_m) try {
	cv::Mat src = *mat(depth); // stays when dst is the same
	cv::Mat &out = *mat(dst);
	out.create(src.rows, src.cols, CV_8UC3);
	if (src.type() == CV_16UC1)
		color<uint16_t>(src, out, near_m * 1000, far_m * 1000);
	else
		color<float>(src, out, near_m, far_m);
	return 0;
} catch (...) {
	return CVMAT_FAILED;
}

int cvmat_decode(const void *data, size_t bytes, void *dst, char *why, size_t room) try {
	*why = 0;
	if (bytes == 0 || bytes > INT32_MAX)
		return CVMAT_FAILED;
	const cv::Mat file(1, static_cast<int>(bytes), CV_8UC1, const_cast<void *>(data));
	cv::Mat picture = cv::imdecode(file, cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION);
	if (picture.empty())
		return CVMAT_FAILED;
	*mat(dst) = std::move(picture);
	return 0;
} catch (const std::exception &e) {
	std::snprintf(why, room, ": %s", e.what());
	return CVMAT_FAILED;
} catch (...) {
	return CVMAT_FAILED;
}
