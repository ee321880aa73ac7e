"""Turns a rotary model of the llama family into an ALiBi adapter for longleaf.
SPDX-License-Identifier: Apache-2.0"""
