# The products: their kernels, test program and timing program.
# SPDX-License-Identifier: Apache-2.0
TYPES = F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q4_K Q5_K Q6_K
PRODUCT_OBJECTS = $(TYPES:%=$(OUT)/fused_%.o) $(OUT)/fused_pair.o $(OUT)/weight.o $(OUT)/bias.o $(OUT)/digits.o $(OUT)/product.o $(OUT)/matrix_library.o
HOST_FLAGS = -I$(top) -I$(top)/src -Xcompiler -std=gnu11,-O2,-fPIC,-Wall,-Wextra
TRUTH_OBJECTS = $(OUT)/truth_dequant.o $(OUT)/truth_half.o $(OUT)/truth_dtype.o $(OUT)/truth_mem.o

.PHONY: products
products: $(OUT)/test_products $(OUT)/bench_products

$(OUT)/fused_%.o: $(top)/cuda/product_fused.cu $(HEADERS)
	$(NVCC) $(FLAGS) -Xptxas -v -DWEIGHT=DT_$* -c $< -o $@ 2>$@.log || { cat $@.log; false; }
$(OUT)/fused_pair.o: $(top)/cuda/product_pair.cu $(HEADERS)
	$(NVCC) $(FLAGS) -Xptxas -v -c $< -o $@ 2>$@.log || { cat $@.log; false; }
$(OUT)/product.o: $(top)/cuda/product.c $(HEADERS)
	$(NVCC) $(HOST_FLAGS) -c $< -o $@
$(OUT)/matrix_library.o: $(top)/cuda/matrix_library.c $(HEADERS)
	$(NVCC) $(HOST_FLAGS) -c $< -o $@
$(OUT)/truth_mem.o: $(top)/src/base/mem.c
	$(NVCC) $(HOST_FLAGS) -c $< -o $@
$(OUT)/truth_%.o: $(top)/src/tensor/%.c
	$(NVCC) $(HOST_FLAGS) -c $< -o $@
$(OUT)/test_products.o: test_products.cu $(HEADERS)
	$(NVCC) $(FLAGS) -c $< -o $@
$(OUT)/bench_products.o: bench_products.cu $(HEADERS)
	$(NVCC) $(FLAGS) -c $< -o $@
$(PRODUCT_OBJECTS) $(TRUTH_OBJECTS) $(OUT)/test_products.o $(OUT)/bench_products.o: | $(OUT)

$(OUT)/test_products: $(OUT)/test_products.o $(OUT)/check.o $(PRODUCT_OBJECTS) $(TRUTH_OBJECTS)
	$(NVCC) -o $@ $^ -lpthread -ldl -Xcompiler -static-libstdc++,-static-libgcc
$(OUT)/bench_products: $(OUT)/bench_products.o $(PRODUCT_OBJECTS) $(TRUTH_OBJECTS)
	$(NVCC) -o $@ $^ -lpthread -ldl -Xcompiler -static-libstdc++,-static-libgcc
