/* bsp_abort takes arguments as printf does, which stable Rust cannot: C formats, Rust ends the program. */
#include <stdarg.h>
#include <stdio.h>

/* What a message may have; longer ones are cut. */
#define LONGEST 4096

void hpvm_bsp_end_with(const char *text);

__attribute__((visibility("hidden"))) void hpvm_bsp_abort_va(const char *format, va_list arguments)
{
    char text[LONGEST];
    if (format == NULL || vsnprintf(text, sizeof text, format, arguments) < 0)
        text[0] = '\0';
    hpvm_bsp_end_with(text);
}

__attribute__((visibility("hidden"))) void hpvm_bsp_abort(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    hpvm_bsp_abort_va(format, arguments);
    va_end(arguments);
}
