# Gives the uniforms and buffers of a shader of the package the bindings that card.c uses: a block of uniforms
# at 0, then the buffers in the order of their declaration.
FNR == NR {
    if (/^uint [A-Z_]+;$/) uniforms = uniforms "    " $0 "\n"
    next
}
/^uint [A-Z_]+;$/ {
    if (!written) printf "[[vk::binding(0)]] cbuffer Uniforms\n{\n%s};\n", uniforms
    written = 1
    next
}
/^(RW)?ByteAddressBuffer [a-z_]+;$/ { printf "[[vk::binding(%d)]] ", ++buffers }
{ print }
