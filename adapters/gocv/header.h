/* SPDX-FileCopyrightText: The camd authors */
/* SPDX-License-Identifier: Apache-2.0 */

/* Headers (cv::Mat) over memory of others, which count how many there are. A
 * header is what gocv passes around as its pointer. */
#ifndef CVMAT_HEADER_H
#define CVMAT_HEADER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cvmat_loan cvmat_loan;

enum { CVMAT_TAKEN = -1, CVMAT_FAILED = -2 };

/* Makes header show rows x cols elements of type (CV_8UC3 ...) at data, step
 * bytes from row to row. NULL: no memory, or a step that OpenCV refuses. */
cvmat_loan *cvmat_lend(void *header, int rows, int cols, int type, void *data, size_t step);

/* How many headers show the memory. */
int cvmat_headers(const cvmat_loan *loan);

/* Empties header if it is the only one, and then returns 0; else the number of
 * the others, or CVMAT_TAKEN if header does not show the memory any more. */
int cvmat_end(cvmat_loan *loan, void *header);

/* Frees the loan; no header shows the memory. */
void cvmat_free(cvmat_loan *loan);

/* Frees a header that nobody has. */
void cvmat_drop(void *header);

/* Gives header rows x cols elements of type in memory of its own, unless it has
 * them; its data and step. 0 or CVMAT_FAILED. */
int cvmat_create(void *header, int rows, int cols, int type, void **data, size_t *step);

/* Where the pixels of header are. */
void *cvmat_data(const void *header);

/* Colours depth (CV_16UC1 in millimetres, CV_32FC1 in metres) from near to far,
 * in metres, into dst, which becomes CV_8UC3. 0 or CVMAT_FAILED. */
int cvmat_color_depth(const void *depth, void *dst, double near_m, double far_m);

/* Decodes a picture file into dst, CV_8UC3. 0 or CVMAT_FAILED, with the reason in
 * why, which has room for so many bytes. */
int cvmat_decode(const void *data, size_t bytes, void *dst, char *why, size_t room);

#ifdef __cplusplus
}
#endif
#endif
